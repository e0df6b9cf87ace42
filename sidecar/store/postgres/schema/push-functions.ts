/**
 * Longer than anybody puts an entry off, and than any lease: what is due later is so by a clock that was ahead of
 * today's.
 */
const LONGEST_WAIT_MS = 20 * 60 * 1000
/** Of those, as many at a time. */
const RECALLED = 1000

/**
 * Leases what is due, to devices that have an id only to those who know of them. In two steps: what is stored between
 * the two is read, and else noted as stored while it was leased, since the row shows that. Moving `due_at` to the end
 * of the lease is what has others take it over then.
 */
export const CLAIM_PUSHES = `
CREATE OR REPLACE FUNCTION claim_pushes(me text, platforms text[], rooms int[], lease_ms int, with_ids boolean DEFAULT false)
RETURNS TABLE (
  station text, device text, platform text, push_token text, token_dead boolean, lease_until bigint, tries int, refusals int,
  since_first_try bigint, waited bigint, count bigint, "time" bigint, source bytea, seq_id bytea, "text" bytea)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms();
  taken text[];
  told int;
BEGIN
  -- The database's clock was set back, or another one took over from it. An array, so that next to nothing is looked at where there is none.
  UPDATE push_due SET due_at = now WHERE station = ANY (ARRAY(
    SELECT station FROM push_due WHERE due_at > now + ${LONGEST_WAIT_MS}
    ORDER BY due_at LIMIT ${RECALLED} FOR UPDATE SKIP LOCKED));

  WITH due AS (
    SELECT oldest.station FROM unnest(platforms, rooms) AS lane (platform, room)
      CROSS JOIN LATERAL (
        SELECT push_due.station FROM push_due JOIN device ON device.key = push_due.station
        WHERE device.platform = lane.platform AND due_at <= now AND (with_ids OR device.key = device.station)
        ORDER BY due_at LIMIT lane.room FOR UPDATE OF push_due SKIP LOCKED) AS oldest
  ), leased AS (
    UPDATE push_due SET owner = me, lease_until = now + lease_ms, due_at = now + lease_ms,
      first_try_at = CASE WHEN tries = 0 THEN now ELSE first_try_at END
    FROM due WHERE push_due.station = due.station RETURNING push_due.station
  )
  SELECT array_agg(leased.station) INTO taken FROM leased;
  IF taken IS NULL THEN RETURN; END IF;

  RETURN QUERY
    SELECT device.station, substr(key, length(device.station) + 2), device.platform, device.push_token, device.token_dead,
      due.lease_until, due.tries, due.refusals, now - first_try_at, now - oldest_at, untold.*
    FROM unnest(taken) AS one (key)
      JOIN push_due AS due ON due.station = one.key
      JOIN device USING (key)
      CROSS JOIN LATERAL (
        SELECT count(*) OVER (), ring.time, ring.source, ring.seq_id, ring.text FROM ring
        WHERE ring.station = device.station AND ring.time > pushed_through ORDER BY ring.time DESC LIMIT 1) AS untold
      -- Without it, the order is the planner's: after a restart a newer message could be told before an older one.
      ORDER BY due.oldest_at;
  GET DIAGNOSTICS told = ROW_COUNT;
  IF told < cardinality(taken) THEN
    DELETE FROM push_due WHERE push_due.station = ANY (taken) AND NOT EXISTS (
      SELECT FROM device JOIN ring USING (station) WHERE key = push_due.station AND ring.time > pushed_through);
  END IF;
END $$`

/**
 * Everything up to `throughs` was told to `stations`, which are keys of devices. Whose lease was over is no longer the
 * one who clears the entry, but what it told was told. Gives which entries stay, for what was stored meanwhile, and in
 * how many milliseconds they are due.
 */
export const SETTLE_PUSHES = `
CREATE OR REPLACE FUNCTION settle_pushes(me text, stations text[], throughs bigint[], leases bigint[], coalesce_ms int)
RETURNS TABLE (station text, due_in bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint;
BEGIN
  -- In the order in which everybody locks these rows.
  PERFORM FROM push_due WHERE push_due.station = ANY (stations) ORDER BY push_due.station FOR UPDATE;
  PERFORM FROM device WHERE key = ANY (stations) ORDER BY key FOR NO KEY UPDATE;
  now := now_ms();
  UPDATE device SET pushed_through = told.through FROM unnest(stations, throughs) AS told (station, through)
    WHERE key = told.station AND pushed_through < told.through;
  DELETE FROM push_due AS due USING unnest(stations, throughs, leases) AS told (station, through, lease)
    WHERE due.station = told.station AND owner = me AND lease_until = told.lease AND newest <= told.through;
  RETURN QUERY
    UPDATE push_due AS due SET owner = '', lease_until = 0, tries = 0, refusals = 0, first_try_at = NULL,
      due_at = greatest(now, again_at), oldest_at = coalesce(again_at - coalesce_ms, now), again_at = NULL
    FROM unnest(stations, leases) AS told (station, lease)
    WHERE due.station = told.station AND owner = me AND lease_until = told.lease
    RETURNING due.station, due_at - now;
END $$`

/** Gives the entries back until `delays` are over. */
export const PUT_OFF_PUSHES = `
CREATE OR REPLACE FUNCTION put_off_pushes(me text, stations text[], leases bigint[], delays bigint[], tried int[], refused int[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint;
BEGIN
  PERFORM FROM push_due WHERE station = ANY (stations) ORDER BY station FOR UPDATE;
  now := now_ms();
  UPDATE push_due AS due SET owner = '', lease_until = 0, due_at = now + delay, again_at = NULL,
    tries = later.tries, refusals = later.refusals,
    first_try_at = CASE WHEN later.tries = 0 THEN NULL ELSE first_try_at END
  FROM unnest(stations, leases, delays, tried, refused) AS later (station, lease, delay, tries, refusals)
  WHERE due.station = later.station AND owner = me AND lease_until = later.lease;
END $$`
