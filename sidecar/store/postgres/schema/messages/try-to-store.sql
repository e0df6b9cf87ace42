-- Fails if a message could not be stored now. Stores one, in every table that messages touch, and rolls that back. The
-- rest, next to nothing, is committed as messages are. Waits for a lock no longer than readiness may be wrong.
CREATE OR REPLACE FUNCTION try_to_store() RETURNS void LANGUAGE plpgsql SET lock_timeout = '4s' AS $$
BEGIN
  BEGIN
    -- For a station that does not exist: claims of notifications skip the rows of a station that is being written to.
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
