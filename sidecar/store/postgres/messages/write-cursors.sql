-- Writes the cursors $2 of the devices $1. Sorted, as in everything that locks several of these rows.
UPDATE device SET newest_cursor = cursor
FROM unnest($1::text[], $2::bigint[]) AS sent (key, cursor)
  JOIN (SELECT key FROM device WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE) AS locked USING (key)
WHERE device.key = sent.key AND newest_cursor < cursor
