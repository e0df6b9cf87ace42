-- Deletes a slice of the changes that are over a day old. Notes that in the clock with the deletion: an instance that
-- has not read so far reads everything again.
WITH old AS (
  SELECT version FROM station_change WHERE version < now_ms() - 86400000 /* DAY_MS */
  ORDER BY version LIMIT 500 /* SLICE_ROWS */
), noted AS (
  UPDATE clock SET changes_since = greatest(changes_since, (SELECT max(version) FROM old))
  WHERE EXISTS (SELECT FROM old)
)
DELETE FROM station_change WHERE version IN (SELECT version FROM old) RETURNING 1
