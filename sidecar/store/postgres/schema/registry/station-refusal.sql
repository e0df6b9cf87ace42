-- Returns why a new station is refused; null if it is accepted.
CREATE OR REPLACE FUNCTION station_refusal(its_client text, max_stations int, max_per_hour int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM new_station WHERE client = its_client AND abs(now_ms() - at) < 3600000) >= max_per_hour THEN
    RETURN 'limited';
  END IF;
  IF (SELECT station_count FROM clock) >= max_stations THEN RETURN 'full'; END IF;
  RETURN NULL;
END $$;
