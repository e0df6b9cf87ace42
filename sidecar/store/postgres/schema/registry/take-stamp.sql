-- Returns a new stamp, and locks the clock until the end of the transaction. So transactions that commit later have
-- newer stamps.
CREATE OR REPLACE FUNCTION take_stamp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  UPDATE clock SET last = greatest(last, now_ms() - 1) + 1 RETURNING last
$$;
