-- Fails if no message can be stored now. It stores one in every table that messages use, and rolls that back. Then it
-- commits a minimal change, as a message would. It waits at most 4 s for a lock, because readiness may be wrong for no
-- longer than that.
CREATE OR REPLACE FUNCTION try_to_store() RETURNS void LANGUAGE plpgsql SET lock_timeout = '4s' AS $$
BEGIN
  BEGIN
    -- Uses a station that does not exist. With an existing station, claims would skip the rows of that station
    -- meanwhile.
    INSERT INTO station SELECT (jsonb_populate_record(sample, '{"key": ""}')).* FROM station AS sample LIMIT 1;
    INSERT INTO device
      SELECT (jsonb_populate_record(sample, '{"key": "", "station": ""}')).* FROM device AS sample LIMIT 1;
    DELETE FROM dropped WHERE false;
    DELETE FROM ack_sent WHERE false;
    PERFORM append(array_agg(key), array_agg(''::bytea), array_agg(''::bytea), array_agg(''::bytea),
        array_agg(''::bytea), array_agg(0), '{1}', ARRAY[''::bytea], ARRAY[''::bytea], 0, 0, 0, 0, 0, 0,
        array_agg(''::bytea))
      FROM station WHERE key = '';
    RAISE SQLSTATE 'MC000';
  EXCEPTION WHEN SQLSTATE 'MC000' THEN
  END;
  UPDATE clock SET per_station = per_station;
END $$;
