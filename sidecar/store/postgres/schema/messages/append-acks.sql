-- Stores received acks that a device wants and that do not repeat a recent one. All acks of a batch have different
-- identities. `ages`: how many milliseconds each ack has waited. Returns the numbers of the stored acks, from 1.
CREATE OR REPLACE FUNCTION append_acks(
  stations text[], sources text[], seq_ids text[], kinds text[], identities text[], ages int[], horizon_ms bigint)
RETURNS int[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms();
  locked_at bigint;
  base bigint;
  fresh int[];
BEGIN
  -- Compares the acks first without the lock, and then under the lock, as append does.
  LOOP
    fresh := ARRAY(
      SELECT one.i FROM unnest(stations, identities, ages) WITH ORDINALITY AS one (station, identity, age, i)
      WHERE EXISTS (SELECT FROM device WHERE device.station = one.station AND want_acks)
        AND NOT EXISTS (
          SELECT FROM ack
          WHERE ack.station = one.station AND ack.identity = one.identity
            AND abs(now - one.age - ack.received_at) < horizon_ms)
      ORDER BY one.i);
    EXIT WHEN locked_at IS NOT NULL OR fresh = '{}';
    SELECT last INTO locked_at FROM clock WHERE id = 1 FOR NO KEY UPDATE;
    now := now_ms();
  END LOOP;
  IF fresh = '{}' THEN RETURN fresh; END IF;
  base := greatest(locked_at, now - 1);
  UPDATE clock SET last = base + cardinality(fresh) + 1 WHERE id = 1;
  INSERT INTO ack (station, time, source, seq_id, kind, identity, received_at)
    SELECT stations[i], base + place, sources[i], seq_ids[i], kinds[i], identities[i], now - ages[i]
    FROM unnest(fresh) WITH ORDINALITY AS one (i, place);
  DELETE FROM ack USING (
    SELECT station, time, row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place
    FROM ack WHERE station = ANY (stations)) AS ranked
  WHERE ack.station = ranked.station AND ack.time = ranked.time AND place > 50 /* MAX_RECEIVED_ACKS */;
  RETURN fresh;
END $$;
