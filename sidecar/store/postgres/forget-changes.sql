-- Deletes a slice of the changes that are older than a day, and records in the clock that they are deleted. An instance
-- that has not read them yet reads all stations again.
WITH old AS (
  SELECT version FROM station_change WHERE version < now_ms() - 86400000 /* DAY_MS */
  ORDER BY version LIMIT 500 /* SLICE_ROWS */
), noted AS (
  UPDATE clock SET changes_since = greatest(changes_since, (SELECT max(version) FROM old))
  WHERE EXISTS (SELECT FROM old)
)
DELETE FROM station_change WHERE version IN (SELECT version FROM old) RETURNING 1
