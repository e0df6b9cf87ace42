-- Stores the messages of a whole transaction, which came in at ?2, and were acknowledged then if ?3 is not null. One
-- statement stores 50,000 messages a second and more; one statement for each stores a few thousand, because each costs
-- a trip to the thread pool of libuv.
-- ?1: JSON of an array of [stamp, station, source, number, text, addressee]. The text is in hex, because JSON has no
-- bytes.
INSERT INTO message (time, station, source, seq_id, text, received_at, acked_at, addressee)
SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, unhex(row.value ->> 4), ?2, ?3,
  row.value ->> 5
FROM json_each(?1) AS row
ORDER BY row.key
