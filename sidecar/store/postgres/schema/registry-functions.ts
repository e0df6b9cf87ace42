import { UNPROVEN_MS } from '../../../messages/station.ts'
import { MAX_DEVICES } from '../../../messages/store.ts'

/** The station's devices as JSON; in the order in which they came. */
export const DEVICES = `(
  SELECT json_agg(json_build_object('id', substr(key, length(station) + 2), 'platform', platform, 'pushToken', push_token,
    'tokenDead', token_dead, 'ackMessages', ack_messages, 'registeredAt', registered_at, 'lastSeenAt', last_seen_at) ORDER BY registered_at)
  FROM device WHERE device.station = station.key)`

/** On which a change of the registry is told to all instances. */
export const CHANNEL = 'mesh_companion'

const HOUR_MS = 3_600_000

const ACCEPTED = "'created', 'joined', 'refreshed'"

/**
 * The functions of the registry, in SQL. All that change something take the clock first, so that instances can read
 * changes in their order.
 */
export const REGISTRY_FUNCTIONS: readonly string[] = [
  // Held to the end of the transaction: whoever commits later has newer stamps.
  `
  CREATE OR REPLACE FUNCTION take_stamp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    UPDATE clock SET last = greatest(last, now_ms() - 1) + 1 RETURNING last
  $$`,

  // NOTIFY here only: in every append it took 13,000 a second down to 4,600 and less, since PostgreSQL commits one
  // notifying transaction after the other.
  `
  CREATE OR REPLACE FUNCTION note_change(changed text, stamp bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO station_change (version, key) VALUES (stamp, changed);
    PERFORM pg_notify('${CHANNEL}', '');
  END $$`,

  // Why a new device cannot be taken; null when it can. The station is new with it, or has as many as it may and none
  // that was last seen before.
  `
  CREATE OR REPLACE FUNCTION refuses_device(its_key text, seen_before bigint, whose text, at_most int, per_hour int)
  RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT EXISTS (SELECT FROM station WHERE key = its_key) THEN RETURN refuses_station(whose, at_most, per_hour); END IF;
    IF (SELECT count(*) >= ${MAX_DEVICES} AND min(last_seen_at) >= seen_before FROM device WHERE station = its_key) THEN
      RETURN 'devices_full';
    END IF;
    RETURN refuses_station(whose, NULL, per_hour);
  END $$`,

  // Why a new station cannot be taken; null when it can.
  `
  CREATE OR REPLACE FUNCTION refuses_station(whose text, at_most int, per_hour int) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    IF (SELECT count(*) FROM new_station WHERE client = whose AND abs(now_ms() - at) < ${HOUR_MS}) >= per_hour THEN RETURN 'limited'; END IF;
    IF (SELECT station_count FROM clock) >= at_most THEN RETURN 'full'; END IF;
    RETURN NULL;
  END $$`,

  // The same avatar again keeps its update time. A station that never had one has nothing to clear, and stays one that
  // never set one.
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

  // Registers several different stations in one transaction, in the order of the arrays. Gives a row for each; `i`
  // counts from 1.
  //
  // A heartbeat that brings nothing new is compared with the row, since any instance may have changed it. It costs a
  // write once an hour, in either direction, so that a clock that was wrong for a while leaves nothing behind. A
  // refusal is found before the clock is taken, and decided again under it. Of more devices than a station may have,
  // those last seen before room_after_ms go. In a full registry, the oldest unproven stations make room; their locks
  // come with those of devices that go, in one order.
  //
  // The clock is taken once for all, and rows of one table are written together. Taken one after the other, a new token
  // took 0.23 ms; together 0.1 ms.
  `
  CREATE OR REPLACE FUNCTION register_stations(
    its_keys text[], its_devices text[], its_platforms text[], its_tokens text[], its_acks boolean[],
    its_icons text[], its_images text[], its_hashes text[], clients text[],
    at_most int, per_hour int, room_after_ms bigint)
  RETURNS TABLE (
    i bigint, kind text, version bigint, registered_at bigint, written_at bigint, now bigint, icon text, hash text, updated_at bigint,
    devices json, displaced text)
  LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
  #variable_conflict use_column
  DECLARE
    total int := cardinality(its_keys);
    at_now bigint := now_ms();
    own text[] := ARRAY(SELECT rtrim(key || ' ' || id) FROM unnest(its_keys, its_devices) WITH ORDINALITY AS one (key, id, i) ORDER BY i);
    -- The outcome of each, once it is known. Null for heartbeats that bring nothing new, which are answered at once.
    kinds text[] := array_fill(NULL::text, ARRAY[total]);
    changing int[] := '{}';
    stale text[] := '{}';
    created int := 0;
    joined text[] := '{}';
    leaving text[];
    -- Heartbeats that bring nothing new, of stations that are unproven.
    proving text[] := '{}';
    -- Stations that make room, by the registration that takes the place.
    victims text[] := array_fill(NULL::text, ARRAY[total]);
    victim text;
    base bigint;
    known record;
    place int;
  BEGIN
    FOR known IN
      SELECT one.i, compared.same, station.proven, device.key AS device, (SELECT last FROM clock) AS last, device.last_seen_at, station.registered_at AS since,
        avatar.icon, avatar.hash, avatar.updated_at, CASE WHEN compared.same THEN ${DEVICES} END AS devices
      FROM unnest(its_keys, own, its_platforms, its_tokens, its_acks, its_icons, its_images, its_hashes) WITH ORDINALITY
          AS one (key, device, platform, token, acks, icon, image, hash, i)
        LEFT JOIN station ON station.key = one.key
        LEFT JOIN device ON device.key = one.device
        LEFT JOIN avatar ON avatar.station = one.key
        CROSS JOIN LATERAL (SELECT coalesce(
          NOT device.token_dead AND device.platform = one.platform AND device.push_token = one.token AND device.ack_messages = one.acks
            AND (one.hash IS NULL
              OR coalesce(avatar.hash, '') = CASE WHEN one.icon = '' AND one.image = '' THEN '' ELSE one.hash END),
          false)) AS compared (same)
    LOOP
      place := known.i;
      IF known.same THEN
        IF NOT known.proven THEN proving := proving || its_keys[place]; END IF;
        IF abs(at_now - known.last_seen_at) > ${HOUR_MS} THEN
          stale := stale || own[place];
          known.last_seen_at := at_now;
        END IF;
        RETURN QUERY SELECT known.i, 'refreshed', known.last, known.since, known.last_seen_at, at_now,
          known.icon, known.hash, known.updated_at, known.devices, NULL::text;
        CONTINUE;
      END IF;
      IF known.device IS NULL THEN
        kinds[place] := refuses_device(its_keys[place], at_now - room_after_ms, clients[place], at_most, per_hour);
        IF kinds[place] = 'full' AND oldest_unproven(at_now, its_keys, at_most) IS NOT NULL THEN kinds[place] := NULL; END IF;
      END IF;
      IF kinds[place] IS NULL THEN changing := changing || place; END IF;
    END LOOP;

    IF changing <> '{}' THEN
      UPDATE clock SET last = greatest(last, now_ms() - 1) + total RETURNING last - total INTO base;
      at_now := now_ms();
      FOREACH place IN ARRAY changing LOOP
        IF EXISTS (SELECT FROM device WHERE key = own[place]) THEN
          kinds[place] := 'refreshed';
          CONTINUE;
        END IF;
        kinds[place] := refuses_device(its_keys[place], at_now - room_after_ms, clients[place],
          at_most - created + cardinality(array_remove(victims, NULL)), per_hour);
        IF kinds[place] = 'full' THEN
          victims[place] := oldest_unproven(at_now, its_keys || array_remove(victims, NULL), at_most);
          IF victims[place] IS NOT NULL THEN kinds[place] := NULL; END IF;
        END IF;
        CONTINUE WHEN kinds[place] IS NOT NULL;
        IF EXISTS (SELECT FROM station WHERE key = its_keys[place]) THEN
          kinds[place] := 'joined';
          joined := joined || its_keys[place];
        ELSE
          kinds[place] := 'created';
          created := created + 1;
        END IF;
        DELETE FROM new_station WHERE client = clients[place] AND abs(at_now - at) >= ${HOUR_MS};
        INSERT INTO new_station (client, at) VALUES (clients[place], at_now);
      END LOOP;
    END IF;

    -- Below the clock, and in the order in which settling pushes locks these rows.
    IF joined <> '{}' OR array_remove(victims, NULL) <> '{}' THEN
      leaving := ARRAY(
        SELECT key FROM (
          SELECT key, row_number() OVER (PARTITION BY station ORDER BY last_seen_at DESC) AS place FROM device WHERE station = ANY (joined)
        ) AS ranked WHERE place >= ${MAX_DEVICES});
      PERFORM FROM push_due WHERE station = ANY (leaving || ARRAY(SELECT key FROM device WHERE station = ANY (victims)))
        ORDER BY station FOR UPDATE;
    END IF;
    IF changing <> '{}' OR stale <> '{}' THEN
      PERFORM FROM device
        WHERE station = ANY (its_keys) AND (key = ANY (stale) OR base IS NOT NULL) OR station = ANY (victims) ORDER BY key FOR UPDATE;
      UPDATE device SET last_seen_at = at_now WHERE key = ANY (stale);
    END IF;
    PERFORM remove_devices(leaving, at_now - room_after_ms) WHERE leaving <> '{}';
    FOREACH victim IN ARRAY array_remove(victims, NULL) LOOP
      PERFORM remove_station(victim, ${Number.MAX_SAFE_INTEGER}, NULL);
    END LOOP;
    IF proving <> '{}' THEN PERFORM prove_stations(proving); END IF;
    IF base IS NOT NULL THEN
      PERFORM write_registrations(kinds, base, at_now, created,
        its_keys, own, its_platforms, its_tokens, its_acks, its_icons, its_images, its_hashes);
    END IF;
    RETURN QUERY
      SELECT one.i, one.kind, base + one.i, station.registered_at, at_now, at_now, avatar.icon, avatar.hash, avatar.updated_at, ${DEVICES},
        one.victim
      FROM unnest(kinds, its_keys, victims) WITH ORDINALITY AS one (kind, key, victim, i)
        LEFT JOIN station ON station.key = one.key AND one.kind IN (${ACCEPTED})
        LEFT JOIN avatar ON avatar.station = station.key
      WHERE one.kind IS NOT NULL;
  END $$`,

  // The station that makes room in a full registry, which is none of those; null where there is none, or room for one
  // more is not enough. By the index station_unproven: a stranger can have this searched at each call.
  `
  CREATE OR REPLACE FUNCTION oldest_unproven(at_now bigint, others text[], at_most int) RETURNS text LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN (
      SELECT key FROM station
      WHERE NOT proven AND registered_at < at_now - ${UNPROVEN_MS} AND key <> ALL (others) AND (SELECT station_count FROM clock) <= at_most
      ORDER BY registered_at LIMIT 1);
  END $$`,

  // In one order, since calls of several instances may prove the same ones.
  `
  CREATE OR REPLACE FUNCTION prove_stations(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE station SET proven = true
      WHERE key = ANY (ARRAY(SELECT key FROM station WHERE key = ANY (keys) AND NOT proven ORDER BY key FOR UPDATE));
  END $$`,

  // Ends the device without an id if this is its push token. One whose token has ever changed stays, silenced: a
  // stranger may have taken it over, or have registered it before its phone did. \`outcome\` is none, wrong_token,
  // silenced or removed; the stamp of the change, if there is one.
  `
  CREATE OR REPLACE FUNCTION end_by_token(its_key text, its_token text, OUT outcome text, OUT version bigint) LANGUAGE plpgsql AS $$
  DECLARE found record;
  BEGIN
    SELECT push_token, first_token INTO found FROM device WHERE key = its_key;
    outcome := CASE WHEN found IS NULL THEN 'none' WHEN found.push_token <> its_token THEN 'wrong_token'
      WHEN found.first_token IS NOT NULL THEN 'silenced' ELSE 'removed' END;
    IF outcome = 'silenced' THEN version := mark_token_dead(its_key, its_token); END IF;
    IF outcome = 'removed' THEN version := remove_station(its_key, ${Number.MAX_SAFE_INTEGER}, '{""}'); END IF;
  END $$`,

  // The rows of the registrations that are accepted. The stamp of each is base and its number.
  `
  CREATE OR REPLACE FUNCTION write_registrations(
    kinds text[], base bigint, at_now bigint, created int, its_keys text[], own text[],
    its_platforms text[], its_tokens text[], its_acks boolean[], its_icons text[], its_images text[], its_hashes text[])
  RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
  #variable_conflict use_column
  BEGIN
    IF created > 0 THEN
      UPDATE clock SET station_count = station_count + created;
      INSERT INTO station (key, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
        SELECT key, platform, token, acks, base + i, at_now, base + i
        FROM unnest(kinds, its_keys, its_platforms, its_tokens, its_acks) WITH ORDINALITY AS one (kind, key, platform, token, acks, i)
        WHERE kind = 'created';
    END IF;
    INSERT INTO device (key, station, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
      SELECT device, key, platform, token, acks, base + i, at_now, base + i
      FROM unnest(kinds, own, its_keys, its_platforms, its_tokens, its_acks) WITH ORDINALITY
        AS one (kind, device, key, platform, token, acks, i)
      WHERE kind IN (${ACCEPTED})
      ON CONFLICT (key) DO UPDATE SET
        first_token = coalesce(device.first_token, CASE WHEN device.push_token <> excluded.push_token THEN device.push_token END),
        platform = excluded.platform, push_token = excluded.push_token, token_dead = false,
        ack_messages = excluded.ack_messages, last_seen_at = excluded.last_seen_at;
    PERFORM prove_stations(ARRAY(SELECT key FROM unnest(kinds, its_keys) AS one (kind, key) WHERE kind IN ('joined', 'refreshed')));
    -- One phone, which has another id by now.
    UPDATE device SET token_dead = true FROM unnest(kinds, own, its_keys, its_tokens) AS one (kind, device, key, token)
      WHERE one.kind IN (${ACCEPTED}) AND station = one.key AND device.key <> one.device AND push_token = one.token AND NOT token_dead;
    PERFORM set_avatar(one.key, one.icon, one.image, one.hash, base + i)
      FROM unnest(kinds, its_keys, its_icons, its_images, its_hashes) WITH ORDINALITY AS one (kind, key, icon, image, hash, i)
      WHERE kind IN (${ACCEPTED}) AND one.hash IS NOT NULL;
    INSERT INTO station_change (version, key)
      SELECT base + i, key FROM unnest(kinds, its_keys) WITH ORDINALITY AS one (kind, key, i) WHERE kind IN (${ACCEPTED});
    IF FOUND THEN PERFORM pg_notify('${CHANNEL}', ''); END IF;
  END $$`,

  // As instances of 0.2.0 call it.
  `
  CREATE OR REPLACE FUNCTION register_station(
    its_key text, its_platform text, its_token text, its_acks boolean,
    its_icon text, its_image text, its_hash text, at_most int, whose text, per_hour int,
    its_device text DEFAULT '', room_after_ms bigint DEFAULT NULL)
  RETURNS TABLE (
    kind text, version bigint, registered_at bigint, written_at bigint, now bigint, icon text, hash text, updated_at bigint, devices json)
  LANGUAGE sql VOLATILE AS $$
    SELECT kind, version, registered_at, written_at, now, icon, hash, updated_at, devices
    FROM register_stations(ARRAY[its_key], ARRAY[its_device], ARRAY[its_platform], ARRAY[its_token], ARRAY[its_acks],
      ARRAY[its_icon], ARRAY[its_image], ARRAY[its_hash], ARRAY[whose], at_most, per_hour, room_after_ms)
  $$`,

  // Those that were not seen since. Whoever settles pushes locks the rows in this order.
  `
  CREATE OR REPLACE FUNCTION remove_devices(keys text[], seen_before bigint) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM push_due WHERE station = ANY (keys) ORDER BY station FOR UPDATE;
    PERFORM FROM device WHERE key = ANY (keys) ORDER BY key FOR UPDATE;
    DELETE FROM push_due USING device WHERE push_due.station = key AND key = ANY (keys) AND last_seen_at < seen_before;
    DELETE FROM device WHERE key = ANY (keys) AND last_seen_at < seen_before;
    RETURN FOUND;
  END $$`,

  // Of the devices of these ids, or of all where they are null, those that were not seen since; with the last one
  // everything that is the station's. The stamp of the removal; null when there was none such.
  `
  CREATE OR REPLACE FUNCTION remove_station(its_key text, seen_before bigint, ids text[] DEFAULT '{""}') RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    stamp bigint;
    keys text[] := ARRAY(
      SELECT key FROM device
      WHERE station = its_key AND last_seen_at < seen_before AND (ids IS NULL OR substr(key, length(its_key) + 2) = ANY (ids)));
  BEGIN
    IF keys = '{}' THEN RETURN NULL; END IF;
    stamp := take_stamp();
    IF NOT remove_devices(keys, seen_before) THEN RETURN NULL; END IF;
    IF NOT EXISTS (SELECT FROM device WHERE station = its_key) THEN
      DELETE FROM station WHERE key = its_key;
      UPDATE clock SET station_count = station_count - 1;
      DELETE FROM ring WHERE station = its_key;
      DELETE FROM dropped WHERE station = its_key;
      DELETE FROM avatar WHERE station = its_key;
    END IF;
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

  // The stamp of the change; null when no device of the station has that token by now, or none that lives. One at most
  // has it.
  `
  CREATE OR REPLACE FUNCTION mark_token_dead(its_key text, its_token text) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE stamp bigint;
  BEGIN
    IF NOT EXISTS (SELECT FROM device WHERE station = its_key AND push_token = its_token AND NOT token_dead) THEN RETURN NULL; END IF;
    stamp := take_stamp();
    UPDATE device SET token_dead = true WHERE station = its_key AND push_token = its_token AND NOT token_dead;
    IF NOT FOUND THEN RETURN NULL; END IF;
    PERFORM note_change(its_key, stamp);
    RETURN stamp;
  END $$`,
]
