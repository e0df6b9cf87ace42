-- Returns leased rows to the queue. Each is due again after its delay. `ats`, `outcomes` and `reasons` are as in
-- settle_pushes.
CREATE OR REPLACE FUNCTION postpone_pushes(
  me text, stations text[], leases bigint[], delays bigint[], tried int[], refused int[], ats bigint[],
  outcomes text[], reasons text[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint;
BEGIN
  PERFORM FROM push_due WHERE station = ANY (stations) ORDER BY station FOR UPDATE;
  PERFORM FROM device WHERE key IN (SELECT station FROM unnest(stations, ats) AS tried (station, at) WHERE at > 0)
    ORDER BY key FOR NO KEY UPDATE;
  now := now_ms();
  UPDATE push_due AS due SET owner = '', lease_until = 0, due_at = now + delay, again_at = NULL,
    tries = later.tries, refusals = later.refusals,
    first_try_at = CASE WHEN later.tries = 0 THEN NULL ELSE first_try_at END
  FROM unnest(stations, leases, delays, tried, refused) AS later (station, lease, delay, tries, refusals)
  WHERE due.station = later.station AND owner = me AND lease_until = later.lease;
  UPDATE device SET last_push_at = tried.at, last_push_outcome = tried.outcome, last_push_reason = tried.reason
  FROM unnest(stations, ats, outcomes, reasons) AS tried (station, at, outcome, reason)
  WHERE key = tried.station AND tried.at IS NOT NULL;
END $$;
