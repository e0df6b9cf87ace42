-- Reads a page of the registry: the stations after $1.
SELECT station.key, station.registered_at AS "registeredAt",
  coalesce((
    SELECT json_agg(json_build_object(
      'id', substr(key, length(station) + 2), 'platform', platform, 'pushToken', push_token, 'tokenDead', token_dead,
      'ackMessages', ack_messages, 'registeredAt', registered_at, 'lastSeenAt', last_seen_at,
      'options', json_build_object(
        'anySsid', any_ssid, 'blocked', string_to_array(blocked, ' '), 'wantAcks', want_acks))
      ORDER BY registered_at)
    FROM device WHERE device.station = station.key), '[]') AS devices,
  avatar.icon, avatar.hash, avatar.updated_at AS "updatedAt"
FROM station LEFT JOIN avatar ON avatar.station = station.key
WHERE station.key > $1 ORDER BY station.key LIMIT 5000 /* PAGE */
