-- Writes the rows of the registrations that register_stations accepts. The stamp of each is `base` plus its number.
CREATE OR REPLACE FUNCTION write_registrations(
  kinds text[], base bigint, at_now bigint, created int, its_keys text[], own text[],
  its_platforms text[], its_tokens text[], its_acks boolean[], its_blocked text[],
  its_want_acks boolean[], its_any_ssid boolean[], its_icons text[], its_images text[], its_hashes text[])
RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  IF created > 0 THEN
    UPDATE clock SET station_count = station_count + created;
    INSERT INTO station (key, registered_at)
      SELECT key, base + i FROM unnest(kinds, its_keys) WITH ORDINALITY AS one (kind, key, i) WHERE kind = 'created';
  END IF;
  INSERT INTO device (
      key, station, platform, push_token, ack_messages, blocked, want_acks, any_ssid, registered_at, last_seen_at,
      pushed_through)
    SELECT device, key, platform, token, acks, blocked, want_acks, any_ssid, base + i, at_now, base + i
    FROM unnest(kinds, own, its_keys, its_platforms, its_tokens, its_acks, its_blocked, its_want_acks, its_any_ssid)
      WITH ORDINALITY AS one (kind, device, key, platform, token, acks, blocked, want_acks, any_ssid, i)
    WHERE kind IN ('created', 'joined', 'refreshed')
    ON CONFLICT (key) DO UPDATE SET
      first_token = coalesce(
        device.first_token, CASE WHEN device.push_token <> excluded.push_token THEN device.push_token END),
      platform = excluded.platform, push_token = excluded.push_token, token_dead = false,
      ack_messages = excluded.ack_messages, blocked = excluded.blocked, want_acks = excluded.want_acks,
      any_ssid = excluded.any_ssid,
      last_seen_at = excluded.last_seen_at;
  PERFORM prove_stations(ARRAY(
    SELECT key FROM unnest(kinds, its_keys) AS one (kind, key) WHERE kind IN ('joined', 'refreshed')));
  -- If another device of the station has the same token, marks the token of that device as dead. The phone now uses a
  -- new device id.
  UPDATE device SET token_dead = true FROM unnest(kinds, own, its_keys, its_tokens) AS one (kind, device, key, token)
    WHERE one.kind IN ('created', 'joined', 'refreshed') AND station = one.key AND device.key <> one.device
      AND push_token = one.token AND NOT token_dead;
  PERFORM set_avatar(one.key, one.icon, one.image, one.hash, base + i)
    FROM unnest(kinds, its_keys, its_icons, its_images, its_hashes) WITH ORDINALITY
      AS one (kind, key, icon, image, hash, i)
    WHERE kind IN ('created', 'joined', 'refreshed') AND one.hash IS NOT NULL;
  INSERT INTO station_change (version, key)
    SELECT base + i, key FROM unnest(kinds, its_keys) WITH ORDINALITY AS one (kind, key, i)
    WHERE kind IN ('created', 'joined', 'refreshed');
  IF FOUND THEN PERFORM pg_notify('mesh_companion' /* CHANNEL */, ''); END IF;
END $$;
