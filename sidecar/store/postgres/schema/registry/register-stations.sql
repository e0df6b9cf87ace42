-- Registers several different stations in one transaction, in the order of the arrays. Returns one row for each; `i`
-- counts from 1.
--
-- To find heartbeats that change nothing, each registration is compared with the stored rows. Such a heartbeat is
-- written only once an hour. Times are compared by their absolute difference. Otherwise, after a clock was wrong for a
-- while, a time in the future would never be updated.
--
-- A refusal is decided before the lock on the clock, and again under the lock. So a full registry or a rate limit
-- refuses new stations without locking. If a station has too many devices, those last seen longer than `room_after_ms`
-- ago are removed. In a full registry, the oldest unproven stations are removed. The rows of these devices and stations
-- are locked in one order.
--
-- The clock is locked once for all registrations, and the rows of each table are written together. Registering a new
-- token takes 0.1 ms this way; one after the other it took 0.23 ms.
CREATE OR REPLACE FUNCTION register_stations(
  its_keys text[], its_devices text[], its_platforms text[], its_tokens text[], its_acks boolean[],
  its_blocked text[], its_want_acks boolean[], its_any_ssid boolean[],
  its_icons text[], its_images text[], its_hashes text[], clients text[],
  max_stations int, max_per_hour int, room_after_ms bigint)
RETURNS TABLE (
  i bigint, kind text, version bigint, registered_at bigint, written_at bigint, now bigint, icon text, hash text,
  updated_at bigint, devices json, displaced text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  total int := cardinality(its_keys);
  at_now bigint := now_ms();
  -- The keys of the devices, in the order of the registrations.
  own text[] := ARRAY(
    SELECT rtrim(key || ' ' || id) FROM unnest(its_keys, its_devices) WITH ORDINALITY AS one (key, id, i) ORDER BY i);
  -- The outcome of each registration; null until it is known. Stays null for heartbeats that change nothing, whose rows
  -- are returned at once.
  kinds text[] := array_fill(NULL::text, ARRAY[total]);
  changing int[] := '{}';
  stale text[] := '{}';
  created int := 0;
  joined text[] := '{}';
  leaving text[];
  -- Unproven stations that sent a heartbeat that changes nothing.
  proving text[] := '{}';
  -- Stations that are removed from a full registry, each at the index of the registration that replaces it.
  victims text[] := array_fill(NULL::text, ARRAY[total]);
  victim text;
  base bigint;
  known record;
  place int;
BEGIN
  FOR known IN
    SELECT one.i, compared.same, station.proven, device.key AS device, (SELECT last FROM clock) AS last,
      device.last_seen_at, station.registered_at AS since, avatar.icon, avatar.hash, avatar.updated_at,
      CASE WHEN compared.same THEN (
        SELECT json_agg(json_build_object(
          'id', substr(key, length(station) + 2), 'platform', platform, 'pushToken', push_token,
          'tokenDead', token_dead, 'ackMessages', ack_messages, 'registeredAt', registered_at,
          'lastSeenAt', last_seen_at,
          'options', json_build_object(
            'anySsid', any_ssid, 'blocked', string_to_array(blocked, ' '), 'wantAcks', want_acks))
          ORDER BY registered_at)
        FROM device WHERE device.station = station.key) END AS devices
    FROM unnest(its_keys, own, its_platforms, its_tokens, its_acks, its_blocked, its_want_acks, its_any_ssid, its_icons,
          its_images, its_hashes)
        WITH ORDINALITY AS one (key, device, platform, token, acks, blocked, want_acks, any_ssid, icon, image, hash, i)
      LEFT JOIN station ON station.key = one.key
      LEFT JOIN device ON device.key = one.device
      LEFT JOIN avatar ON avatar.station = one.key
      CROSS JOIN LATERAL (SELECT coalesce(
        NOT device.token_dead AND device.platform = one.platform AND device.push_token = one.token
          AND device.ack_messages = one.acks AND device.blocked = one.blocked
          AND device.want_acks = one.want_acks AND device.any_ssid = one.any_ssid
          AND (one.hash IS NULL
            OR coalesce(avatar.hash, '') = CASE WHEN one.icon = '' AND one.image = '' THEN '' ELSE one.hash END),
        false)) AS compared (same)
    -- Without this order, the plan would decide which registration gets the last free place.
    ORDER BY one.i
  LOOP
    place := known.i;
    IF known.same THEN
      IF NOT known.proven THEN proving := proving || its_keys[place]; END IF;
      IF abs(at_now - known.last_seen_at) > 3600000 THEN
        stale := stale || own[place];
        known.last_seen_at := at_now;
      END IF;
      RETURN QUERY SELECT known.i, 'refreshed', known.last, known.since, known.last_seen_at, at_now,
        known.icon, known.hash, known.updated_at, known.devices, NULL::text;
      CONTINUE;
    END IF;
    IF known.device IS NULL THEN
      kinds[place] := device_refusal(
        its_keys[place], at_now - room_after_ms, clients[place], max_stations, max_per_hour);
      IF kinds[place] = 'full' AND oldest_unproven(at_now, its_keys, max_stations) IS NOT NULL THEN
        kinds[place] := NULL;
      END IF;
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
      kinds[place] := device_refusal(its_keys[place], at_now - room_after_ms, clients[place],
        max_stations - created + cardinality(array_remove(victims, NULL)), max_per_hour);
      IF kinds[place] = 'full' THEN
        victims[place] := oldest_unproven(at_now, its_keys || array_remove(victims, NULL), max_stations);
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
      DELETE FROM new_station WHERE client = clients[place] AND abs(at_now - at) >= 3600000;
      INSERT INTO new_station (client, at) VALUES (clients[place], at_now);
    END LOOP;
  END IF;

  -- Locks rows after the clock, in the order in which settle_pushes locks them.
  IF joined <> '{}' OR array_remove(victims, NULL) <> '{}' THEN
    leaving := ARRAY(
      SELECT key FROM (
        SELECT key, row_number() OVER (PARTITION BY station ORDER BY last_seen_at DESC) AS place
        FROM device WHERE station = ANY (joined)
      ) AS ranked WHERE place >= 8 /* MAX_DEVICES */);
    PERFORM FROM push_due WHERE station = ANY (leaving || ARRAY(SELECT key FROM device WHERE station = ANY (victims)))
      ORDER BY station FOR UPDATE;
  END IF;
  IF changing <> '{}' OR stale <> '{}' THEN
    PERFORM FROM device
      WHERE station = ANY (its_keys) AND (key = ANY (stale) OR base IS NOT NULL) OR station = ANY (victims)
      ORDER BY key FOR UPDATE;
    UPDATE device SET last_seen_at = at_now WHERE key = ANY (stale);
  END IF;
  PERFORM remove_devices(leaving, at_now - room_after_ms) WHERE leaving <> '{}';
  FOREACH victim IN ARRAY array_remove(victims, NULL) LOOP
    PERFORM remove_station(victim, 9007199254740991 /* NEVER */, NULL);
  END LOOP;
  IF proving <> '{}' THEN PERFORM prove_stations(proving); END IF;
  IF base IS NOT NULL THEN
    PERFORM write_registrations(kinds, base, at_now, created,
      its_keys, own, its_platforms, its_tokens, its_acks, its_blocked, its_want_acks, its_any_ssid, its_icons,
      its_images, its_hashes);
  END IF;
  RETURN QUERY
    SELECT one.i, one.kind, base + one.i, station.registered_at, at_now, at_now, avatar.icon, avatar.hash,
      avatar.updated_at, (
        SELECT json_agg(json_build_object(
          'id', substr(key, length(station) + 2), 'platform', platform, 'pushToken', push_token,
          'tokenDead', token_dead, 'ackMessages', ack_messages, 'registeredAt', registered_at,
          'lastSeenAt', last_seen_at,
          'options', json_build_object(
            'anySsid', any_ssid, 'blocked', string_to_array(blocked, ' '), 'wantAcks', want_acks))
          ORDER BY registered_at)
        FROM device WHERE device.station = station.key),
      one.victim
    FROM unnest(kinds, its_keys, victims) WITH ORDINALITY AS one (kind, key, victim, i)
      LEFT JOIN station ON station.key = one.key AND one.kind IN ('created', 'joined', 'refreshed')
      LEFT JOIN avatar ON avatar.station = station.key
    WHERE one.kind IS NOT NULL;
END $$;
