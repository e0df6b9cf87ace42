-- Marks a push token as dead. At most one device of the station has the token. Returns the stamp of the change; null if
-- no device has the token, or if it is already dead.
CREATE OR REPLACE FUNCTION mark_token_dead(its_key text, its_token text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  stamp bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM device WHERE station = its_key AND push_token = its_token AND NOT token_dead) THEN
    RETURN NULL;
  END IF;
  stamp := take_stamp();
  UPDATE device SET token_dead = true WHERE station = its_key AND push_token = its_token AND NOT token_dead;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM note_change(its_key, stamp);
  RETURN stamp;
END $$;
