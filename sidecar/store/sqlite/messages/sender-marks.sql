-- Messages of senders, oldest first. ?1: JSON of an array of [source, array of stamps].
SELECT json_group_array(
  json_array(station, source, seq_id, hex(text), received_at, coalesce(addressee, station))) AS marks
FROM (
  SELECT message.*
  FROM json_each(?1) AS pair
    CROSS JOIN json_each(pair.value, '$[1]') AS row
    CROSS JOIN message ON message.time = row.value AND message.source = pair.value ->> 0
  ORDER BY time)
