-- Notifies all instances that a station changed. Only changes of the registry use NOTIFY. In each append, it reduced
-- 13,000 messages a second to 4,600 or fewer, because PostgreSQL commits notifying transactions one after the other.
CREATE OR REPLACE FUNCTION note_change(changed text, stamp bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO station_change (version, key) VALUES (stamp, changed);
  PERFORM pg_notify('mesh_companion' /* CHANNEL */, '');
END $$;
