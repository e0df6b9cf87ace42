-- Releases an instance's name and leases at once, so that other instances take over without waiting. The row of the
-- instance stays, because note_presence uses its time.
CREATE OR REPLACE FUNCTION leave(its_name text, its_owner text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM lease WHERE owner = its_owner;
  UPDATE instance SET owner = '', seen_at = now_ms() WHERE name = its_name AND owner = its_owner;
$$;
