-- Records that `stations`, which are keys of devices, were notified of all messages up to `throughs`. `ats`, `outcomes`
-- and `reasons` are the results of the last tries. If an entry of `ats` is null, the device keeps its former result.
--
-- A caller whose lease has expired still records its notifications, but does not remove the row. Returns the rows that
-- stay because messages arrived during the lease, and in how many milliseconds each is due.
CREATE OR REPLACE FUNCTION settle_pushes(
  me text, stations text[], throughs bigint[], leases bigint[], ats bigint[], outcomes text[], reasons text[],
  coalesce_ms int)
RETURNS TABLE (station text, due_in bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint;
BEGIN
  -- Every function locks these rows in this order, to prevent deadlocks.
  PERFORM FROM push_due WHERE push_due.station = ANY (stations) ORDER BY push_due.station FOR UPDATE;
  PERFORM FROM device WHERE key = ANY (stations) ORDER BY key FOR NO KEY UPDATE;
  now := now_ms();
  UPDATE device SET pushed_through = greatest(pushed_through, settled.through),
    last_push_at = coalesce(settled.at, last_push_at),
    last_push_outcome = CASE WHEN settled.at IS NULL THEN last_push_outcome ELSE settled.outcome END,
    last_push_reason = CASE WHEN settled.at IS NULL THEN last_push_reason ELSE settled.reason END
  FROM unnest(stations, throughs, ats, outcomes, reasons) AS settled (station, through, at, outcome, reason)
  WHERE key = settled.station;
  DELETE FROM push_due AS due USING unnest(stations, throughs, leases) AS settled (station, through, lease)
    WHERE due.station = settled.station AND owner = me AND lease_until = settled.lease AND newest <= settled.through;
  RETURN QUERY
    UPDATE push_due AS due SET owner = '', lease_until = 0, tries = 0, refusals = 0, first_try_at = NULL,
      due_at = greatest(now, again_at), oldest_at = coalesce(again_at - coalesce_ms, now), again_at = NULL
    FROM unnest(stations, leases) AS settled (station, lease)
    WHERE due.station = settled.station AND owner = me AND lease_until = settled.lease
    RETURNING due.station, due_at - now;
END $$;
