-- Writes the cursors $2 of the devices $1. Locks the rows in the order of keys, as every statement does, to prevent
-- deadlocks.
UPDATE device SET newest_cursor = cursor
FROM unnest($1::text[], $2::bigint[]) AS sent (key, cursor)
  JOIN (SELECT key FROM device WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE) AS locked USING (key)
WHERE device.key = sent.key AND newest_cursor < cursor
