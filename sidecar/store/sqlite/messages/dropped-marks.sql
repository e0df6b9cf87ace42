-- Messages with the stamps ?1, oldest first, so that the newest of equal messages overwrites the others. Returning one
-- string instead of one row per message halves the time of a start.
SELECT json_group_array(
  json_array(station, source, seq_id, hex(text), received_at, coalesce(addressee, station))) AS marks
FROM (SELECT * FROM message WHERE time IN (SELECT value FROM json_each(?1)) ORDER BY time)
