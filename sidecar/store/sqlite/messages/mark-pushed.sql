-- Records up to which stamp devices were notified, and the results of the last tries. ?1: JSON of an array of [station,
-- id, stamp, at, outcome, reason]. A row without `at` has no new result.
UPDATE device SET pushed_through = max(pushed_through, mark.time),
  last_push_at = coalesce(mark.at, last_push_at),
  last_push_outcome = iif(mark.at IS NULL, last_push_outcome, mark.outcome),
  last_push_reason = iif(mark.at IS NULL, last_push_reason, mark.reason)
FROM (
  SELECT value ->> 0 AS station, value ->> 1 AS id, value ->> 2 AS time, value ->> 3 AS at, value ->> 4 AS outcome,
    value ->> 5 AS reason
  FROM json_each(?1)
) AS mark
WHERE device.station = mark.station AND device.id = mark.id
