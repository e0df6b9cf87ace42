-- Adds a device, or updates the registration of an existing one.
INSERT INTO device (
  station, id, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through, blocked, want_acks,
  any_ssid)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?6, ?8, ?9, ?10)
ON CONFLICT (station, id) DO UPDATE SET
  first_token = coalesce(first_token, CASE WHEN push_token <> excluded.push_token THEN push_token END),
  platform = excluded.platform, push_token = excluded.push_token, token_dead = 0,
  ack_messages = excluded.ack_messages, last_seen_at = excluded.last_seen_at,
  blocked = excluded.blocked, want_acks = excluded.want_acks, any_ssid = excluded.any_ssid
