-- Corrects the stored number of stations, in case somebody edited the tables. Counts under the lock on the clock, so
-- that no station registers meanwhile.
CREATE OR REPLACE FUNCTION recount_stations() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT station_count FROM clock) = (SELECT count(*) FROM station) THEN RETURN; END IF;
  PERFORM FROM clock FOR NO KEY UPDATE;
  UPDATE clock SET station_count = (SELECT count(*) FROM station);
END $$;
