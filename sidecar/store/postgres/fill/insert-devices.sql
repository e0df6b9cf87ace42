-- Inserts devices. Each parameter is the array of one column.
INSERT INTO device (
  key, station, platform, push_token, token_dead, ack_messages, registered_at, last_seen_at, pushed_through,
  newest_cursor, first_token, blocked, last_push_at, last_push_outcome, last_push_reason,
  want_acks, any_ssid)
SELECT * FROM unnest(
  $1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::boolean[], $7::bigint[], $8::bigint[],
  $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::text[],
  $16::boolean[], $17::boolean[])
