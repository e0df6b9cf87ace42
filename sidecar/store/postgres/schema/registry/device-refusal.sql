-- Returns why a new device is refused; null if it is accepted. It is refused if its station is new and is refused. It
-- is also refused if the station has the maximum number of devices and all of them were seen since `seen_before`.
CREATE OR REPLACE FUNCTION device_refusal(
  its_key text, seen_before bigint, its_client text, max_stations int, max_per_hour int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM station WHERE key = its_key) THEN
    RETURN station_refusal(its_client, max_stations, max_per_hour);
  END IF;
  IF (SELECT count(*) >= 8 /* MAX_DEVICES */ AND min(last_seen_at) >= seen_before FROM device WHERE station = its_key)
  THEN
    RETURN 'devices_full';
  END IF;
  RETURN station_refusal(its_client, NULL, max_per_hour);
END $$;
