-- Lists at most $2 stations after $1, each with the number of its devices, its last heartbeat and its pending
-- notifications.
SELECT page.key AS station, count(*) AS devices, max(last_seen_at) AS "lastSeenAt", count(push_due.station) AS pending
FROM (SELECT key FROM station WHERE key > $1 ORDER BY key LIMIT $2) AS page
  JOIN device ON device.station = page.key
  LEFT JOIN push_due ON push_due.station = device.key
GROUP BY page.key ORDER BY page.key
