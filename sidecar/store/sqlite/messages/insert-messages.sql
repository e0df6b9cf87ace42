-- Stores the messages of a whole transaction, which arrived at ?2. One statement for all of them stores more than
-- 50,000 messages a second. One statement for each would store a few thousand, because each costs a trip to the thread
-- pool of libuv.
-- ?1: JSON of an array of [stamp, station, source, number, text, addressee, acknowledged], in the order of the stamps.
-- The last two may be missing, and the last is 1 for a message that is acknowledged at ?2. The text is in hex, because
-- JSON cannot contain bytes.
INSERT INTO message (time, station, source, seq_id, text, received_at, addressee, acked_at)
SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, unhex(row.value ->> 4), ?2,
  row.value ->> 5, iif(row.value ->> 6, ?2, NULL)
FROM json_each(?1) AS row
ORDER BY row.key
