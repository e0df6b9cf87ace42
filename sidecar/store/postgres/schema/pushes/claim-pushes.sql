-- Leases due rows to the caller, for each platform at most the number in `rooms`, and returns the messages to notify
-- of. A row may be due because of messages that its device does not get; such a row is deleted here.
--
-- The function works in two steps. So a message that is stored between them is either read, or its row shows that it
-- arrived during the lease. `due_at` becomes the end of the lease. If the caller does not settle the row until then,
-- another instance claims it.
CREATE OR REPLACE FUNCTION claim_pushes(me text, platforms text[], rooms int[], lease_ms int)
RETURNS TABLE (
  station text, device text, platform text, push_token text, token_dead boolean, lease_until bigint, tries int,
  refusals int, since_first_try bigint, waited bigint, count bigint, "time" bigint, source bytea, seq_id bytea,
  "text" bytea, addressee bytea)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms();
  taken text[];
  returned int;
BEGIN
  -- Makes rows due that would be due in more than 20 minutes. No delay or lease is that long, so the clock was set
  -- back. The array makes this cheap if there are no such rows. At most 1,000 rows are changed at a time.
  UPDATE push_due SET due_at = now WHERE station = ANY (ARRAY(
    SELECT station FROM push_due WHERE due_at > now + 1200000 ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED));

  WITH due AS (
    SELECT oldest.station FROM unnest(platforms, rooms) AS wanted (platform, room)
      CROSS JOIN LATERAL (
        SELECT push_due.station FROM push_due JOIN device ON device.key = push_due.station
        WHERE device.platform = wanted.platform AND due_at <= now
        ORDER BY due_at LIMIT wanted.room FOR UPDATE OF push_due SKIP LOCKED) AS oldest
  ), leased AS (
    UPDATE push_due SET owner = me, lease_until = now + lease_ms, due_at = now + lease_ms,
      first_try_at = CASE WHEN tries = 0 THEN now ELSE first_try_at END
    FROM due WHERE push_due.station = due.station RETURNING push_due.station
  )
  SELECT array_agg(leased.station) INTO taken FROM leased;
  IF taken IS NULL THEN RETURN; END IF;

  RETURN QUERY
    SELECT device.station, substr(key, length(device.station) + 2), device.platform, device.push_token,
      device.token_dead, due.lease_until, due.tries, due.refusals, now - first_try_at, now - oldest_at, unpushed.*
    FROM unnest(taken) AS one (key)
      JOIN push_due AS due ON due.station = one.key
      JOIN device USING (key)
      CROSS JOIN LATERAL (
        SELECT count(*) OVER (), ring.time, ring.source, ring.seq_id, ring.text, ring.addressee FROM ring
        WHERE ring.station = device.station AND ring.time > pushed_through
          AND (ring.addressee = '' OR any_ssid) AND (blocked = '' OR NOT is_blocked(blocked, ring.source))
        ORDER BY ring.time DESC LIMIT 1) AS unpushed
      -- Without this order, a newer message could be notified before an older one after a restart.
      ORDER BY due.oldest_at;
  GET DIAGNOSTICS returned = ROW_COUNT;
  IF returned < cardinality(taken) THEN
    -- Marks messages that the device does not get as notified, so that a later claim does not read them again.
    PERFORM FROM device WHERE key = ANY (taken) ORDER BY key FOR NO KEY UPDATE;
    WITH gone AS (
      DELETE FROM push_due WHERE push_due.station = ANY (taken) AND NOT EXISTS (
        SELECT FROM device JOIN ring USING (station)
        WHERE key = push_due.station AND ring.time > pushed_through
          AND (ring.addressee = '' OR any_ssid) AND (blocked = '' OR NOT is_blocked(blocked, ring.source)))
      RETURNING push_due.station AS key, newest
    )
    UPDATE device SET pushed_through = newest FROM gone WHERE device.key = gone.key AND pushed_through < newest;
  END IF;
END $$;
