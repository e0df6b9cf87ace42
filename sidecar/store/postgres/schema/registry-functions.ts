import { FREE_TEXT } from './ring-functions.ts'

/** On which a change of the registry is told to all instances. */
export const CHANNEL = 'mesh_companion'

const HOUR_MS = 3_600_000

/** The functions of the registry, in SQL. All that change something take the clock first, so that instances can read changes in their order. */
export const REGISTRY_FUNCTIONS: readonly string[] = [
  // Held to the end of the transaction: whoever commits later has newer stamps.
  `
  CREATE OR REPLACE FUNCTION take_stamp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    UPDATE clock SET last = greatest(last, now_ms() - 1) + 1 RETURNING last
  $$`,

  // NOTIFY here only: in every append it took 13,000 a second down to 4,600 and less, since PostgreSQL commits one notifying transaction
  // after the other.
  `
  CREATE OR REPLACE FUNCTION note_change(changed text, stamp bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO station_change (version, key) VALUES (stamp, changed);
    PERFORM pg_notify('${CHANNEL}', '');
  END $$`,

  // Why a new station cannot be taken; null when it can.
  `
  CREATE OR REPLACE FUNCTION refuses_station(whose text, at_most int, per_hour int) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    IF (SELECT count(*) FROM new_station WHERE client = whose AND abs(now_ms() - at) < ${HOUR_MS}) >= per_hour THEN RETURN 'limited'; END IF;
    IF (SELECT station_count FROM clock) >= at_most THEN RETURN 'full'; END IF;
    RETURN NULL;
  END $$`,

  // The same avatar again keeps its update time. A station that never had one has nothing to clear, and stays one that never set one.
  `
  CREATE OR REPLACE FUNCTION set_avatar(whose text, its_icon text, its_image text, its_hash text, stamp bigint)
  RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF its_icon = '' AND its_image = '' THEN
      UPDATE avatar SET icon = '', hash = '', image = '', updated_at = stamp WHERE station = whose AND hash <> '';
    ELSE
      INSERT INTO avatar (station, icon, hash, updated_at, image) VALUES (whose, its_icon, its_hash, stamp, its_image)
      ON CONFLICT (station) DO UPDATE
        SET icon = excluded.icon, hash = excluded.hash, updated_at = excluded.updated_at, image = excluded.image
        WHERE avatar.hash <> excluded.hash;
    END IF;
  END $$`,

  // A heartbeat that brings nothing new is compared with the row, since any instance may have changed it, and costs a write once an hour, in
  // either direction, so that a clock that was wrong for a while leaves nothing behind. What is refused is so before the clock is
  // taken, and once more under it, which counts.
  `
  CREATE OR REPLACE FUNCTION register_station(
    its_key text, its_platform text, its_token text, its_acks boolean,
    its_icon text, its_image text, its_hash text, at_most int, whose text, per_hour int)
  RETURNS TABLE (kind text, version bigint, registered_at bigint, written_at bigint, now bigint, icon text, hash text, updated_at bigint)
  LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    known record;
    stamp bigint;
    at_now bigint := now_ms();
    refusal text;
    outcome text := 'refreshed';
  BEGIN
    SELECT clock.last, station.*, avatar.icon, avatar.hash, avatar.updated_at INTO known
      FROM clock JOIN station ON station.key = its_key LEFT JOIN avatar ON avatar.station = its_key;
    IF FOUND AND NOT known.token_dead AND known.platform = its_platform AND known.push_token = its_token AND known.ack_messages = its_acks
      AND (its_hash IS NULL OR coalesce(known.hash, '') = CASE WHEN its_icon = '' AND its_image = '' THEN '' ELSE its_hash END)
    THEN
      IF abs(at_now - known.last_seen_at) > ${HOUR_MS} THEN
        UPDATE station SET last_seen_at = at_now WHERE station.key = its_key;
        known.last_seen_at := at_now;
      END IF;
      RETURN QUERY SELECT outcome, known.last, known.registered_at, known.last_seen_at, at_now, known.icon, known.hash, known.updated_at;
      RETURN;
    END IF;

    IF NOT FOUND THEN
      refusal := refuses_station(whose, at_most, per_hour);
    END IF;
    IF refusal IS NULL THEN
      stamp := take_stamp();
      at_now := now_ms();
      UPDATE station
        SET platform = its_platform, push_token = its_token, token_dead = false, ack_messages = its_acks, last_seen_at = at_now
        WHERE station.key = its_key;
      IF NOT FOUND THEN
        outcome := 'created';
        refusal := refuses_station(whose, at_most, per_hour);
      END IF;
    END IF;
    IF refusal IS NOT NULL THEN
      RETURN QUERY SELECT refusal, 0::bigint, 0::bigint, 0::bigint, at_now, NULL::text, NULL::text, NULL::bigint;
      RETURN;
    END IF;

    IF outcome = 'created' THEN
      UPDATE clock SET station_count = station_count + 1;
      INSERT INTO station (key, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
        VALUES (its_key, its_platform, its_token, its_acks, stamp, at_now, stamp);
      INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
        SELECT its_key, slot, 0, '', '', ${FREE_TEXT}, '', 0 FROM clock, generate_series(0, clock.per_station - 1) AS slot;
      DELETE FROM new_station WHERE client = whose AND abs(at_now - at) >= ${HOUR_MS};
      INSERT INTO new_station (client, at) VALUES (whose, at_now);
    END IF;
    IF its_hash IS NOT NULL THEN
      PERFORM set_avatar(its_key, its_icon, its_image, its_hash, stamp);
    END IF;
    PERFORM note_change(its_key, stamp);
    RETURN QUERY SELECT outcome, stamp, station.registered_at, at_now, at_now, avatar.icon, avatar.hash, avatar.updated_at
      FROM station LEFT JOIN avatar ON avatar.station = station.key WHERE station.key = its_key;
  END $$`,

  // Everything that is a station's. The stamp of the removal; null when there was none, or it was seen since.
  `
  CREATE OR REPLACE FUNCTION remove_station(its_key text, seen_before bigint) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE stamp bigint;
  BEGIN
    IF NOT EXISTS (SELECT FROM station WHERE key = its_key AND last_seen_at < seen_before) THEN RETURN NULL; END IF;
    stamp := take_stamp();
    -- Whoever settles pushes locks the two in this order.
    PERFORM FROM push_due WHERE station = its_key FOR UPDATE;
    DELETE FROM station WHERE key = its_key AND last_seen_at < seen_before;
    IF NOT FOUND THEN RETURN NULL; END IF;
    UPDATE clock SET station_count = station_count - 1;
    DELETE FROM push_due WHERE station = its_key;
    DELETE FROM ring WHERE station = its_key;
    DELETE FROM dropped WHERE station = its_key;
    DELETE FROM avatar WHERE station = its_key;
    PERFORM note_change(its_key, stamp);
    RETURN stamp;
  END $$`,

  // Should somebody have edited the tables. Counted under the clock: nobody registers meanwhile.
  `
  CREATE OR REPLACE FUNCTION recount_stations() RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF (SELECT station_count FROM clock) = (SELECT count(*) FROM station) THEN RETURN; END IF;
    PERFORM FROM clock FOR NO KEY UPDATE;
    UPDATE clock SET station_count = (SELECT count(*) FROM station);
  END $$`,

  // The stamp of the change; null when the station has another token by now, or none that lives.
  `
  CREATE OR REPLACE FUNCTION mark_token_dead(its_key text, its_token text) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE stamp bigint;
  BEGIN
    IF NOT EXISTS (SELECT FROM station WHERE key = its_key AND push_token = its_token AND NOT token_dead) THEN RETURN NULL; END IF;
    stamp := take_stamp();
    UPDATE station SET token_dead = true WHERE key = its_key AND push_token = its_token AND NOT token_dead;
    IF NOT FOUND THEN RETURN NULL; END IF;
    PERFORM note_change(its_key, stamp);
    RETURN stamp;
  END $$`,
]
