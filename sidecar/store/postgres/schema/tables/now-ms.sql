-- Returns the current time in milliseconds since 1970. All SQL of the sidecar reads the time here. The function is
-- created only with the tables, so that tests can replace it with a clock of their own.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
