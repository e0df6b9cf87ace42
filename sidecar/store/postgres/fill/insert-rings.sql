-- Rings of $8 slots with the messages of the other parameters: the newest message in the last slot, older ones in order
-- before it.
WITH held AS (
  SELECT *, $8 - row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place
  FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[])
    AS message (station, time, source, seq_id, text, identity, received_at)
)
INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
  SELECT key, one.place, coalesce(time, 0), coalesce(source, ''), coalesce(seq_id, ''), coalesce(text, ''),
    coalesce(identity, ''), coalesce(received_at, 0)
  FROM (SELECT DISTINCT station AS key FROM held) AS filled CROSS JOIN generate_series(0, $8 - 1) AS one (place)
    LEFT JOIN held ON held.station = key AND held.place = one.place
