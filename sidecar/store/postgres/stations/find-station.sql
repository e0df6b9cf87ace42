-- Finds the station $1. `version` is the newest stamp in the snapshot.
SELECT clock.last AS version, station.key, station.registered_at AS "registeredAt",
  coalesce((
    SELECT json_agg(json_build_object(
      'id', substr(key, length(station) + 2), 'platform', platform, 'pushToken', push_token, 'tokenDead', token_dead,
      'ackMessages', ack_messages, 'registeredAt', registered_at, 'lastSeenAt', last_seen_at,
      'options', json_build_object(
        'anySsid', any_ssid, 'blocked', string_to_array(blocked, ' '), 'wantAcks', want_acks))
      ORDER BY registered_at)
    FROM device WHERE device.station = station.key), '[]') AS devices,
  avatar.icon, avatar.hash, avatar.updated_at AS "updatedAt"
FROM clock JOIN station ON station.key = $1 LEFT JOIN avatar ON avatar.station = station.key
