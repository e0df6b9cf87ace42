-- Returns a new stamp, and locks the clock to the end of the transaction: whoever commits later has newer stamps.
CREATE OR REPLACE FUNCTION take_stamp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  UPDATE clock SET last = greatest(last, now_ms() - 1) + 1 RETURNING last
$$;
