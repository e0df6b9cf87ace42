-- The current time in milliseconds since 1970. All SQL of the sidecar takes the time from here.
-- Created once, with the tables: a test replaces it with its own clock.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
