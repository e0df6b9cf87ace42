-- Notes that `stations`, which are keys of devices, were notified of everything up to `throughs`. A caller whose lease
-- has ended no longer clears the row, but what it notified of counts. Returns the rows that stay because of messages
-- that arrived meanwhile, and in how many milliseconds they are due.
CREATE OR REPLACE FUNCTION settle_pushes(
  me text, stations text[], throughs bigint[], leases bigint[], coalesce_ms int)
RETURNS TABLE (station text, due_in bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint;
BEGIN
  -- In the order in which every function locks these rows.
  PERFORM FROM push_due WHERE push_due.station = ANY (stations) ORDER BY push_due.station FOR UPDATE;
  PERFORM FROM device WHERE key = ANY (stations) ORDER BY key FOR NO KEY UPDATE;
  now := now_ms();
  UPDATE device SET pushed_through = settled.through FROM unnest(stations, throughs) AS settled (station, through)
    WHERE key = settled.station AND pushed_through < settled.through;
  DELETE FROM push_due AS due USING unnest(stations, throughs, leases) AS settled (station, through, lease)
    WHERE due.station = settled.station AND owner = me AND lease_until = settled.lease AND newest <= settled.through;
  RETURN QUERY
    UPDATE push_due AS due SET owner = '', lease_until = 0, tries = 0, refusals = 0, first_try_at = NULL,
      due_at = greatest(now, again_at), oldest_at = coalesce(again_at - coalesce_ms, now), again_at = NULL
    FROM unnest(stations, leases) AS settled (station, lease)
    WHERE due.station = settled.station AND owner = me AND lease_until = settled.lease
    RETURNING due.station, due_at - now;
END $$;
