-- Returns the stations that changed after the stamp $1. If there are none, returns one row with null in `changed`.
--
-- LATERAL and LIMIT make PostgreSQL look up each station by its key. Without them, the plan reads all stations, which
-- took 30 ms for each notification.
SELECT clock.last AS version, clock.changes_since AS "changesSince", changed.key AS changed, record.*
FROM clock
  LEFT JOIN (SELECT DISTINCT key FROM station_change WHERE version > $1) AS changed ON true
  LEFT JOIN LATERAL (
    SELECT station.key, station.registered_at AS "registeredAt",
      coalesce((
        SELECT json_agg(json_build_object(
          'id', substr(key, length(station) + 2), 'platform', platform, 'pushToken', push_token,
          'tokenDead', token_dead, 'ackMessages', ack_messages, 'registeredAt', registered_at,
          'lastSeenAt', last_seen_at,
          'options', json_build_object(
            'anySsid', any_ssid, 'blocked', string_to_array(blocked, ' '), 'wantAcks', want_acks))
          ORDER BY registered_at)
        FROM device WHERE device.station = station.key), '[]') AS devices,
      avatar.icon, avatar.hash, avatar.updated_at AS "updatedAt"
    FROM station LEFT JOIN avatar ON avatar.station = station.key WHERE station.key = changed.key LIMIT 1
  ) AS record ON true
