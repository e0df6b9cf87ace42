-- At most $2 stations with keys above $1, each with its devices, its last registration and its pending notifications.
SELECT page.key AS station, count(*) AS devices, max(last_seen_at) AS "lastSeenAt", count(push_due.station) AS pending
FROM (SELECT key FROM station WHERE key > $1 ORDER BY key LIMIT $2) AS page
  JOIN device ON device.station = page.key
  LEFT JOIN push_due ON push_due.station = device.key
GROUP BY page.key ORDER BY page.key
