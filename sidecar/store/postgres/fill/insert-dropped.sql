-- Inserts the messages that were dropped from rings, in their order.
INSERT INTO dropped (station, identity, received_at)
SELECT station, identity, received_at
FROM unnest($1::text[], $2::bytea[], $3::bigint[]) WITH ORDINALITY AS one (station, identity, received_at, i)
ORDER BY i
