-- Messages with the stamps ?1, the newest last, so that it is the one that counts. One string instead of a row object
-- for each message halves the time of a start.
SELECT json_group_array(
  json_array(station, source, seq_id, hex(text), received_at, coalesce(addressee, station))) AS marks
FROM (SELECT * FROM message WHERE time IN (SELECT value FROM json_each(?1)) ORDER BY time)
