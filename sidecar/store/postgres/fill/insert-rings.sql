-- Inserts rings of $11 slots, with the messages of the other parameters. The newest message is in the last slot, and
-- older ones are in order before it. $8: for each message, the stamp of the newest message that its ring has dropped.
WITH held AS (
  SELECT *, $11 - row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place
  FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bytea[])
    AS message (station, time, source, seq_id, text, identity, received_at, dropped, acked_at, addressee)
)
INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at, replaced, acked_at, addressee)
  SELECT key, one.place, coalesce(time, 0), coalesce(source, ''), coalesce(seq_id, ''), coalesce(text, ''),
    coalesce(identity, ''), coalesce(received_at, 0), filled.dropped, acked_at,
    coalesce(addressee, '')
  FROM (SELECT station AS key, max(dropped) AS dropped FROM held GROUP BY station) AS filled
    CROSS JOIN generate_series(0, $11 - 1) AS one (place)
    LEFT JOIN held ON held.station = key AND held.place = one.place
