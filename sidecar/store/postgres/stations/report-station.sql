-- Reads the report on station $1 for the operator, from one snapshot. Senders and message numbers are in hex, because
-- they may contain NUL.
SELECT coalesce(avatar.hash, '') AS "avatarHash",
  (SELECT json_agg(json_build_object(
      'key', device.key, 'platform', platform, 'pushToken', push_token, 'tokenDead', token_dead,
      'ackMessages', ack_messages, 'registeredAt', registered_at, 'lastSeenAt', last_seen_at,
      'pending', (push_due.station IS NOT NULL)::int,
      'lastPush', CASE WHEN last_push_at IS NOT NULL THEN json_build_object(
        'at', last_push_at, 'outcome', last_push_outcome, 'reason', last_push_reason) END)
    ORDER BY registered_at, device.key)
  FROM device LEFT JOIN push_due ON push_due.station = device.key WHERE device.station = $1) AS devices,
  (SELECT json_agg(json_build_object(
      'from', encode(source, 'hex'), 'seqId', encode(seq_id, 'hex'), 'time', time, 'ackedAt', acked_at,
      'to', convert_from(addressee, 'UTF8'))
    ORDER BY time DESC)
  FROM ring WHERE ring.station = $1 AND time > 0) AS messages
FROM station LEFT JOIN avatar ON avatar.station = station.key WHERE station.key = $1
