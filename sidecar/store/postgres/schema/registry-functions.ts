import { MOST_DEVICES } from '../../../messages/store.ts'
import { FREE_TEXT } from './ring-functions.ts'

/** The station's devices as JSON; in the order in which they came. */
export const DEVICES = `(
  SELECT json_agg(json_build_object('id', substr(key, length(station) + 2), 'platform', platform, 'pushToken', push_token,
    'tokenDead', token_dead, 'ackMessages', ack_messages, 'registeredAt', registered_at, 'lastSeenAt', last_seen_at) ORDER BY registered_at)
  FROM device WHERE device.station = station.key)`

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

  // Why a new device cannot be taken; null when it can. The station is new with it, or has as many as it may and none that was last seen before.
  `
  CREATE OR REPLACE FUNCTION refuses_device(its_key text, seen_before bigint, whose text, at_most int, per_hour int)
  RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT EXISTS (SELECT FROM station WHERE key = its_key) THEN RETURN refuses_station(whose, at_most, per_hour); END IF;
    IF (SELECT count(*) >= ${MOST_DEVICES} AND min(last_seen_at) >= seen_before FROM device WHERE station = its_key) THEN
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
  // taken, and once more under it, which counts. Of more devices than a station may have, those that were seen last before room_after_ms go.
  `
  CREATE OR REPLACE FUNCTION register_station(
    its_key text, its_platform text, its_token text, its_acks boolean,
    its_icon text, its_image text, its_hash text, at_most int, whose text, per_hour int,
    its_device text DEFAULT '', room_after_ms bigint DEFAULT NULL)
  RETURNS TABLE (
    kind text, version bigint, registered_at bigint, written_at bigint, now bigint, icon text, hash text, updated_at bigint, devices json)
  LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    own text := rtrim(its_key || ' ' || its_device);
    known record;
    stamp bigint;
    at_now bigint := now_ms();
    refusal text;
    outcome text := 'refreshed';
  BEGIN
    SELECT clock.last, device.*, station.registered_at AS since, avatar.icon, avatar.hash, avatar.updated_at, ${DEVICES} AS devices INTO known
      FROM clock JOIN station ON station.key = its_key JOIN device ON device.key = own LEFT JOIN avatar ON avatar.station = its_key;
    IF FOUND AND NOT known.token_dead AND known.platform = its_platform AND known.push_token = its_token AND known.ack_messages = its_acks
      AND (its_hash IS NULL OR coalesce(known.hash, '') = CASE WHEN its_icon = '' AND its_image = '' THEN '' ELSE its_hash END)
    THEN
      IF abs(at_now - known.last_seen_at) > ${HOUR_MS} THEN
        UPDATE device SET last_seen_at = at_now WHERE device.key = own;
        known.last_seen_at := at_now;
      END IF;
      RETURN QUERY SELECT outcome, known.last, known.since, known.last_seen_at, at_now, known.icon, known.hash, known.updated_at, known.devices;
      RETURN;
    END IF;

    IF NOT FOUND THEN
      refusal := refuses_device(its_key, at_now - room_after_ms, whose, at_most, per_hour);
    END IF;
    IF refusal IS NULL THEN
      stamp := take_stamp();
      at_now := now_ms();
      IF NOT EXISTS (SELECT FROM device WHERE device.key = own) THEN
        outcome := CASE WHEN EXISTS (SELECT FROM station WHERE station.key = its_key) THEN 'joined' ELSE 'created' END;
        refusal := refuses_device(its_key, at_now - room_after_ms, whose, at_most, per_hour);
      END IF;
    END IF;
    IF refusal IS NOT NULL THEN
      RETURN QUERY SELECT refusal, 0::bigint, 0::bigint, 0::bigint, at_now, NULL::text, NULL::text, NULL::bigint, NULL::json;
      RETURN;
    END IF;

    IF outcome = 'created' THEN
      UPDATE clock SET station_count = station_count + 1;
      INSERT INTO station (key, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
        VALUES (its_key, its_platform, its_token, its_acks, stamp, at_now, stamp);
      INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
        SELECT its_key, slot, 0, '', '', ${FREE_TEXT}, '', 0 FROM clock, generate_series(0, clock.per_station - 1) AS slot;
    ELSIF outcome = 'joined' THEN
      PERFORM remove_devices(
        ARRAY(SELECT key FROM device WHERE station = its_key ORDER BY last_seen_at DESC OFFSET ${MOST_DEVICES - 1}),
        at_now - room_after_ms);
    END IF;
    IF outcome <> 'refreshed' THEN
      DELETE FROM new_station WHERE client = whose AND abs(at_now - at) >= ${HOUR_MS};
      INSERT INTO new_station (client, at) VALUES (whose, at_now);
    END IF;
    -- In the order in which whoever settles pushes locks them.
    PERFORM FROM device WHERE station = its_key ORDER BY device.key FOR UPDATE;
    INSERT INTO device AS one (key, station, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
      VALUES (own, its_key, its_platform, its_token, its_acks, stamp, at_now, stamp)
      ON CONFLICT (key) DO UPDATE SET platform = its_platform, push_token = its_token, token_dead = false, ack_messages = its_acks,
        last_seen_at = at_now;
    -- One phone, which has another id by now.
    UPDATE device SET token_dead = true WHERE station = its_key AND key <> own AND push_token = its_token AND NOT token_dead;
    IF its_hash IS NOT NULL THEN
      PERFORM set_avatar(its_key, its_icon, its_image, its_hash, stamp);
    END IF;
    PERFORM note_change(its_key, stamp);
    RETURN QUERY SELECT outcome, stamp, station.registered_at, at_now, at_now, avatar.icon, avatar.hash, avatar.updated_at, ${DEVICES}
      FROM station LEFT JOIN avatar ON avatar.station = station.key WHERE station.key = its_key;
  END $$`,

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

  // Of the devices of these ids, or of all where they are null, those that were not seen since; with the last one everything that is the
  // station's. The stamp of the removal; null when there was none such.
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

  // The stamp of the change; null when no device of the station has that token by now, or none that lives. One at most has it.
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
