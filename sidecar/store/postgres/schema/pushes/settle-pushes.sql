-- Notes that `stations`, which are keys of devices, were notified of everything up to `throughs`, and how the last
-- tries ended: `ats`, `outcomes` and `reasons`. Where `ats` is null, the former result stays. A caller whose lease
-- has ended no longer clears the row, but what it notified of counts. Returns the rows that stay because of messages
-- that arrived meanwhile, and in how many milliseconds they are due.
CREATE OR REPLACE FUNCTION settle_pushes(
  me text, stations text[], throughs bigint[], leases bigint[], ats bigint[], outcomes text[], reasons text[],
  coalesce_ms int)
RETURNS TABLE (station text, due_in bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint;
BEGIN
  -- In the order in which every function locks these rows.
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
