-- Stores a batch of messages in one round trip. It is a plpgsql function, so that each statement has its own snapshot.
-- The statements after the lock see everything that was committed before the lock.
--
-- All messages of a batch differ, because the caller removes repetitions.
-- - `ages`: how many milliseconds each message has waited. In a retried batch, the time counts from the first attempt.
--   So a message that the first attempt did store is recognized as a copy.
-- - `ack_of`: the numbers of the messages that the caller may acknowledge, from 1.
-- - `ack_sources` and `ack_seq_ids`: the destination and the message number of each of these acks.
-- - `addressees`: the addressee of each message, if it is another SSID of the station's callsign; otherwise empty. Such
--   a message makes notifications due for all devices of the station. claim_pushes deletes those of devices that do not
--   get it.
--
-- Returns
-- - `base`: the stamp of a message is `base` plus the number of the message.
-- - `kinds`: one character per message: 0 for an unknown station, 1 for a duplicate, 2 for a stored message.
-- - `acks`: the entries of `ack_of` that the caller must send, from 1.
-- - `originals`: one stamp for each of `acks`: if the message is a copy, the stamp of its original in the ring;
--   otherwise 0. Empty if the batch has no copies.
--
-- All batches use one generic plan, because planning each batch takes as long as storing five messages.
CREATE OR REPLACE FUNCTION append(
  stations text[], sources bytea[], seq_ids bytea[], texts bytea[], identities bytea[], ages int[],
  ack_of int[], ack_sources bytea[], ack_seq_ids bytea[],
  numbered_ms bigint, unnumbered_ms bigint, coalesce_ms int, ack_interval_ms bigint, acks_per_minute int,
  acks_of_sender int, addressees bytea[],
  OUT base bigint, OUT kinds text, OUT acks int[], OUT originals bigint[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms();
  -- The value of `last` in the clock: when the messages were compared, and under the lock.
  compared_at bigint;
  locked_at bigint;
  size int;
  kind int[];
  -- For each message, the slot of the newest message of its station; null if the station has no ring.
  heads int[];
  -- For each message, its newest copy in the ring: the stamp and, in the lowest 14 bits, the slot.
  copies bigint[];
  -- The numbers of the messages that are acknowledged.
  acked bigint[];
  -- The stations that get their first message.
  without_ring text[];
BEGIN
  -- Compares the messages first without the lock. A message that is a copy now remains one, and half of the messages
  -- that two listeners receive are copies. If there are new messages, and anything was stored since, compares again
  -- under the lock.
  LOOP
    -- One look at the ring gives both answers. That look is expensive, because the ring's pages are in no processor
    -- cache. A copy in the ring is newer than a dropped one, and the newest copy decides. Times are compared by their
    -- absolute difference. Otherwise, after a clock was wrong for a while, messages with a time in the future would
    -- stay recent. The slot fits into 14 bits (16383), because a ring has at most 10,000 slots.
    SELECT (SELECT last FROM clock),
      array_agg(
        CASE
          WHEN station.key IS NULL THEN 0
          WHEN abs(now - message.age - CASE
            WHEN held.copy IS NULL THEN (
              SELECT received_at FROM dropped
              WHERE dropped.station = message.station AND dropped.identity = message.identity
              ORDER BY id DESC LIMIT 1)
            ELSE (
              SELECT received_at FROM ring
              WHERE ring.station = message.station AND slot = (held.copy & 16383)::int) END)
            < CASE WHEN message.seq_id = '' THEN unnumbered_ms ELSE numbered_ms END THEN 1
          ELSE 2
        END ORDER BY message.i),
      array_agg((held.newest & 16383)::int ORDER BY message.i),
      array_agg(held.copy ORDER BY message.i)
    INTO compared_at, kind, heads, copies
    FROM unnest(stations, identities, seq_ids, ages) WITH ORDINALITY AS message (station, identity, seq_id, age, i)
      LEFT JOIN station ON station.key = message.station
      LEFT JOIN LATERAL (
        SELECT max(time << 14 | slot) AS newest,
          max(time << 14 | slot) FILTER (WHERE ring.identity = message.identity) AS copy
        FROM ring WHERE ring.station = station.key) AS held ON true;
    EXIT WHEN locked_at IS NOT NULL OR 2 = ANY (kind) IS NOT TRUE;
    -- The lock is held until the commit is visible. So a reader sees all messages with older stamps, and later writers
    -- get newer stamps.
    SELECT last, per_station INTO locked_at, size FROM clock WHERE id = 1 FOR NO KEY UPDATE;
    now := now_ms();
    EXIT WHEN locked_at = compared_at;
  END LOOP;

  acks := CASE WHEN cardinality(ack_of) = 0 THEN '{}'
    ELSE claim_acks(stations, sources, kind, ack_of, ack_sources, ack_seq_ids, ack_interval_ms, acks_per_minute,
      acks_of_sender) END;
  acked := ARRAY(SELECT DISTINCT ack_of[granted] FROM unnest(acks) AS granted);

  base := 0;
  IF 2 = ANY (kind) THEN
    base := greatest(locked_at, now - 1);
    UPDATE clock SET last = base + cardinality(stations) + 1 WHERE id = 1;
    IF array_position(heads, NULL) IS NOT NULL THEN
      without_ring := ARRAY(
        SELECT stations[i] FROM generate_subscripts(heads, 1) AS i WHERE heads[i] IS NULL AND kind[i] = 2);
      PERFORM make_rings(without_ring, size) WHERE without_ring <> '{}';
    END IF;

    WITH new AS MATERIALIZED (
      SELECT message.*, acked.i IS NOT NULL AS is_acked, row_number() OVER (PARTITION BY station ORDER BY i) AS place,
        count(*) OVER (PARTITION BY station) AS coming
      FROM unnest(stations, sources, seq_ids, texts, identities, ages, addressees) WITH ORDINALITY
        AS message (station, source, seq_id, text, identity, age, addressee, i)
        LEFT JOIN unnest(acked) AS acked (i) USING (i)
      WHERE kind[i] = 2
    ), placed AS MATERIALIZED (
      -- If more messages arrive than the ring has slots, the last ones stay.
      SELECT new.*, (coalesce(heads[i], size - 1) + place) % size AS slot, coming - place < size AS stays FROM new
    ), leaving AS (
      INSERT INTO dropped (station, identity, received_at)
      SELECT station, identity, received_at FROM (
        SELECT ring.station, ring.identity, ring.received_at, time
        FROM placed JOIN ring ON ring.station = placed.station AND ring.slot = placed.slot
        WHERE stays AND time > 0
          AND abs(now - received_at) < CASE WHEN ring.seq_id = '' THEN unnumbered_ms ELSE numbered_ms END
        UNION ALL
        SELECT station, identity, now - age, base + i FROM placed WHERE NOT stays) AS dropping
      ORDER BY time
    )
    -- If some messages of the batch do not stay, the oldest one that stays records this in `replaced`.
    INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at, replaced, acked_at,
        addressee)
      SELECT station, slot, base + i, source, seq_id, text, identity, now - age,
        CASE WHEN coming > size AND coming - place = size - 1 THEN base + i - 1 ELSE 0 END,
        CASE WHEN is_acked THEN now END, addressee
      FROM placed WHERE stays
      ON CONFLICT (station, slot) DO UPDATE SET
        time = excluded.time, source = excluded.source, seq_id = excluded.seq_id, text = excluded.text,
        identity = excluded.identity, received_at = excluded.received_at,
        replaced = greatest(ring.replaced, ring.time, excluded.replaced), acked_at = excluded.acked_at,
        addressee = excluded.addressee;

    -- Makes the notifications due in the transaction that stores the messages. So no message is durable without its
    -- notification being due. Sorted, because every statement locks these rows in the order of keys. If `oldest_at` is
    -- in the future, the clock was set back. Then `due_at` becomes earlier, because the window would otherwise end too
    -- late.
    INSERT INTO push_due AS due (station, newest, due_at, oldest_at)
      SELECT device.key, base + latest, now + coalesce_ms, now - oldest
      FROM (
        SELECT station, max(i) AS latest, max(age) AS oldest
        FROM unnest(stations, ages) WITH ORDINALITY AS message (station, age, i) WHERE kind[i] = 2 GROUP BY station
      ) AS new JOIN device USING (station) ORDER BY device.key
      ON CONFLICT (station) DO UPDATE SET
        newest = excluded.newest,
        due_at = CASE WHEN due.oldest_at > now AND due.owner = '' AND due.tries = 0 AND due.refusals = 0
          THEN least(due.due_at, excluded.due_at) ELSE due.due_at END,
        again_at = CASE WHEN due.owner = '' THEN NULL ELSE coalesce(due.again_at, excluded.due_at) END;
  END IF;

  originals := '{}';
  IF acked <> '{}' AND 1 = ANY (kind) THEN
    originals := ARRAY(
      SELECT CASE WHEN kind[ack_of[granted]] = 1 THEN coalesce(copies[ack_of[granted]] >> 14, 0) ELSE 0 END
      FROM unnest(acks) WITH ORDINALITY AS ack (granted, i) ORDER BY i);
    -- Skips rows that another transaction is writing. This one may not hold the lock on the clock, so the two could
    -- deadlock. For skipped rows, the operator does not see the time of the ack.
    UPDATE ring SET acked_at = now FROM (
      SELECT ring.station, ring.slot FROM unnest(acked) AS i
        JOIN ring ON ring.station = stations[i] AND ring.slot = (copies[i] & 16383)::int
      WHERE kind[i] = 1 AND time = copies[i] >> 14 AND acked_at IS NULL
      FOR NO KEY UPDATE OF ring SKIP LOCKED) AS original
    WHERE ring.station = original.station AND ring.slot = original.slot;
  END IF;

  kinds := array_to_string(kind, '');
END $$;
