-- Removes the station's devices with these ids that were not seen since `seen_before`; all such devices if `ids` is
-- null. If no device remains, removes the station with all its data. Returns the stamp of the removal; null if nothing
-- was removed.
CREATE OR REPLACE FUNCTION remove_station(its_key text, seen_before bigint, ids text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  stamp bigint;
  keys text[] := ARRAY(
    SELECT key FROM device
    WHERE station = its_key AND last_seen_at < seen_before
      AND (ids IS NULL OR substr(key, length(its_key) + 2) = ANY (ids)));
BEGIN
  IF keys = '{}' THEN RETURN NULL; END IF;
  stamp := take_stamp();
  IF NOT remove_devices(keys, seen_before) THEN RETURN NULL; END IF;
  IF NOT EXISTS (SELECT FROM device WHERE station = its_key) THEN
    DELETE FROM station WHERE key = its_key;
    UPDATE clock SET station_count = station_count - 1;
    DELETE FROM ring WHERE station = its_key;
    DELETE FROM dropped WHERE station = its_key;
    DELETE FROM ack WHERE station = its_key;
    DELETE FROM avatar WHERE station = its_key;
  END IF;
  PERFORM note_change(its_key, stamp);
  RETURN stamp;
END $$;
