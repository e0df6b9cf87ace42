-- Removes the devices in `keys` that were not seen since `seen_before`. Locks the rows in the order in which
-- settle_pushes locks them. Returns whether it removed any device.
CREATE OR REPLACE FUNCTION remove_devices(keys text[], seen_before bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM push_due WHERE station = ANY (keys) ORDER BY station FOR UPDATE;
  PERFORM FROM device WHERE key = ANY (keys) ORDER BY key FOR UPDATE;
  DELETE FROM push_due USING device WHERE push_due.station = key AND key = ANY (keys) AND last_seen_at < seen_before;
  DELETE FROM device WHERE key = ANY (keys) AND last_seen_at < seen_before;
  RETURN FOUND;
END $$;
