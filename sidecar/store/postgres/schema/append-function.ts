/** What {@link APPEND} says of a message; as characters, as many as there are messages. A duplicate is '1'. */
export const NO_STATION = '0'
export const STORED = '2'

/** Places of a ring are told by so many bits; it has 10,000 at most. */
const SLOT_BITS = 14
const SLOT = 2 ** SLOT_BITS - 1

/**
 * Of all messages: is it new, and which is the newest in its station's ring? Both of one look through the ring: it lies
 * on pages that are in no processor's cache, and that is what it costs. The newest copy counts, and what is in the ring
 * is newer than what the ring has dropped. Distances in either direction, so that a clock that was wrong for a while
 * leaves nothing behind.
 */
const KINDS = `
  array_agg(
    CASE
      WHEN station.key IS NULL THEN 0
      WHEN abs(now - message.age - CASE
        WHEN held.copy IS NULL THEN (
          SELECT received_at FROM dropped WHERE dropped.station = message.station AND dropped.identity = message.identity
          ORDER BY id DESC LIMIT 1)
        ELSE (
          SELECT received_at FROM ring WHERE ring.station = message.station AND slot = (held.copy & ${SLOT})::int) END)
        < CASE WHEN message.seq_id = '' THEN unnumbered_ms ELSE numbered_ms END THEN 1
      ELSE 2
    END ORDER BY message.i),
  array_agg((held.newest & ${SLOT})::int ORDER BY message.i)
  FROM unnest(stations, identities, seq_ids, ages) WITH ORDINALITY AS message (station, identity, seq_id, age, i)
    LEFT JOIN station ON station.key = message.station
    LEFT JOIN LATERAL (
      SELECT max(time << ${SLOT_BITS} | slot) AS newest,
        max(time << ${SLOT_BITS} | slot) FILTER (WHERE ring.identity = message.identity) AS copy
      FROM ring WHERE ring.station = station.key) AS held ON true`

/**
 * Stores a batch in one round trip. A function, so that each of its statements has a snapshot of its own: those below
 * the lock see everything that was committed before it was had.
 *
 * All messages of a batch are different (what is equal within one is told apart by who asks). `ages`: for how many
 * milliseconds each was waiting, that of a batch that is tried again included, so that a copy of what was stored at the
 * first try is found. `ack_of`: of the messages that the caller may acknowledge, which one; `ack_sources`,
 * `ack_seq_ids`: where to and with which number.
 *
 * Gives `base`, to which a message's place, from 1, is added for its stamp; `kinds`; and `acks`, those of `ack_of`,
 * from 1, that the caller is to send. One plan for all: PostgreSQL plans anew for each batch, which for five messages
 * takes as long as they do.
 */
export const APPEND = `
CREATE OR REPLACE FUNCTION append(
  stations text[], sources bytea[], seq_ids bytea[], texts bytea[], identities bytea[], ages int[],
  ack_of int[], ack_sources bytea[], ack_seq_ids bytea[],
  numbered_ms bigint, unnumbered_ms bigint, coalesce_ms int, ack_interval_ms bigint, acks_per_minute int, acks_of_sender int,
  OUT base bigint, OUT kinds text, OUT acks int[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms();
  known bigint;
  before bigint;
  size int;
  kind int[];
  heads int[];
  -- Stations that get their first message.
  without_ring text[];
BEGIN
  -- Without a lock: what is a copy now stays one, and half of what two listeners bring is.
  SELECT (SELECT last FROM clock), ${KINDS} INTO known, kind, heads;
  base := 0;
  IF 2 = ANY (kind) THEN
    -- Held until the commit can be seen. So whoever reads it sees all messages with older stamps, and who writes later has newer ones.
    SELECT last, per_station INTO before, size FROM clock WHERE id = 1 FOR NO KEY UPDATE;
    now := now_ms();
    IF before <> known THEN
      SELECT ${KINDS} INTO kind, heads;
    END IF;
  END IF;
  IF 2 = ANY (kind) THEN
    base := greatest(before, now - 1);
    UPDATE clock SET last = base + cardinality(stations) + 1 WHERE id = 1;
    IF array_position(heads, NULL) IS NOT NULL THEN
      without_ring := ARRAY(SELECT stations[i] FROM generate_subscripts(heads, 1) AS i WHERE heads[i] IS NULL AND kind[i] = 2);
      PERFORM make_rings(without_ring, size) WHERE without_ring <> '{}';
    END IF;

    WITH new AS MATERIALIZED (
      SELECT message.*, row_number() OVER (PARTITION BY station ORDER BY i) AS place,
        count(*) OVER (PARTITION BY station) AS coming
      FROM unnest(stations, sources, seq_ids, texts, identities, ages) WITH ORDINALITY
        AS message (station, source, seq_id, text, identity, age, i)
      WHERE kind[i] = 2
    ), placed AS MATERIALIZED (
      -- Of more than the ring holds, the last ones.
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
    INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
      SELECT station, slot, base + i, source, seq_id, text, identity, now - age FROM placed WHERE stays
      ON CONFLICT (station, slot) DO UPDATE SET
        time = excluded.time, source = excluded.source, seq_id = excluded.seq_id, text = excluded.text,
        identity = excluded.identity, received_at = excluded.received_at;

    -- With the messages: none is ever durable without its push being due. Sorted, as whoever else locks several of these rows does.
    -- What came in later than now did so before the clock was set back: its window would end as much later.
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

  kinds := array_to_string(kind, '');
  acks := CASE WHEN cardinality(ack_of) = 0 THEN '{}'
    ELSE claim_acks(stations, sources, kind, ack_of, ack_sources, ack_seq_ids, ack_interval_ms, acks_per_minute, acks_of_sender) END;
END $$`

/**
 * Whether a message could be stored now: one is, in whatever tables messages touch, and undone. What is left, next to
 * nothing, is committed as messages are. It waits for nobody's lock for longer than readiness may be wrong.
 */
export const TRY_TO_STORE = `
CREATE OR REPLACE FUNCTION try_to_store() RETURNS void LANGUAGE plpgsql SET lock_timeout = '4s' AS $$
BEGIN
  BEGIN
    -- To nobody: claims of pushes skip the rows of a station that is being written to.
    INSERT INTO station SELECT (jsonb_populate_record(somebody, '{"key": ""}')).* FROM station AS somebody LIMIT 1;
    INSERT INTO device SELECT (jsonb_populate_record(somebody, '{"key": "", "station": ""}')).* FROM device AS somebody LIMIT 1;
    DELETE FROM dropped WHERE false;
    DELETE FROM ack_sent WHERE false;
    PERFORM append(array_agg(key), array_agg(''::bytea), array_agg(''::bytea), array_agg(''::bytea), array_agg(''::bytea),
        array_agg(0), '{1}', array[''::bytea], array[''::bytea], 0, 0, 0, 0, 0, 0)
      FROM station WHERE key = '';
    RAISE SQLSTATE 'MC000';
  EXCEPTION WHEN SQLSTATE 'MC000' THEN
  END;
  UPDATE clock SET per_station = per_station;
END $$`

/**
 * Who gets a row of `ack_sent` sends that ack. The time is taken here, with the clock's lock held where it is: taken
 * before it, two would take one another's ack for one of long ago.
 */
export const CLAIM_ACKS = `
CREATE OR REPLACE FUNCTION claim_acks(
  stations text[], sources bytea[], kind int[], ack_of int[], ack_sources bytea[], ack_seq_ids bytea[],
  interval_ms bigint, per_minute int, of_sender int)
RETURNS int[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms();
  granted int[];
BEGIN
  WITH wanted AS (
    SELECT DISTINCT ON (sender, addressee, source, seq_id) sender, addressee, source, seq_id, i
    FROM unnest(ack_of, ack_sources, ack_seq_ids) WITH ORDINALITY AS ack (message, source, seq_id, i)
      CROSS JOIN LATERAL (SELECT sources[message] AS sender, stations[message] AS addressee) AS of_message
    WHERE kind[message] > 0 AND EXISTS (SELECT FROM device WHERE device.station = addressee AND ack_messages AND NOT token_dead)
    ORDER BY sender, addressee, source, seq_id, i
  ), unsent AS (
    SELECT wanted.* FROM wanted LEFT JOIN ack_sent AS sent USING (sender, addressee, source, seq_id)
    WHERE sent.at IS NULL OR abs(now - sent.at) >= interval_ms
  ), of_pair AS (
    SELECT unsent.*, row_number() OVER (PARTITION BY sender, addressee ORDER BY i) + (
      SELECT count(*) FROM ack_sent AS sent
      WHERE sent.sender = unsent.sender AND sent.addressee = unsent.addressee AND abs(now - sent.at) < 60000) AS place
    FROM unsent
  ), of_all AS (
    SELECT of_pair.*, row_number() OVER (PARTITION BY sender ORDER BY i) + (
      SELECT count(*) FROM ack_sent AS sent
      WHERE sent.sender = of_pair.sender AND abs(now - sent.at) < 60000) AS place_of_all
    FROM of_pair WHERE place <= per_minute
  ), claimed AS (
    INSERT INTO ack_sent AS sent (sender, addressee, source, seq_id, at)
      SELECT sender, addressee, source, seq_id, now FROM of_all WHERE place_of_all <= of_sender
      ORDER BY sender, addressee COLLATE "C", source, seq_id
      ON CONFLICT (sender, addressee, source, seq_id) DO UPDATE SET at = excluded.at
      WHERE abs(excluded.at - sent.at) >= interval_ms
      RETURNING sender, addressee, source, seq_id
  )
  SELECT coalesce(array_agg(i), '{}') INTO granted FROM wanted JOIN claimed USING (sender, addressee, source, seq_id);
  RETURN granted;
END $$`
