-- Removes the device without an id if `its_token` is its push token. If the token of the device ever changed, the
-- device is only silenced. Then a stranger may have taken the device over, or may have registered it before its phone
-- did. `outcome` is none, wrong_token, silenced or removed. `version` is the stamp of the change; null if nothing
-- changed.
CREATE OR REPLACE FUNCTION end_by_token(its_key text, its_token text, OUT outcome text, OUT version bigint)
LANGUAGE plpgsql AS $$
DECLARE
  found record;
BEGIN
  SELECT push_token, first_token INTO found FROM device WHERE key = its_key;
  outcome := CASE WHEN found IS NULL THEN 'none' WHEN found.push_token <> its_token THEN 'wrong_token'
    WHEN found.first_token IS NOT NULL THEN 'silenced' ELSE 'removed' END;
  IF outcome = 'silenced' THEN version := mark_token_dead(its_key, its_token); END IF;
  IF outcome = 'removed' THEN version := remove_station(its_key, 9007199254740991 /* NEVER */, '{""}'); END IF;
END $$;
