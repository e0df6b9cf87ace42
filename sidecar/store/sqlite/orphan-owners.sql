-- Finds unregistered stations among the next at most ?2 stations after ?1 that have avatars, devices or acks. Returns
-- the last station of this slice, and JSON of those that are not registered.
SELECT max(key) AS last, json_group_array(key) FILTER (WHERE key NOT IN (SELECT key FROM station)) AS orphans
FROM (
  SELECT station AS key FROM avatar WHERE station > ?1
  UNION SELECT station FROM device WHERE station > ?1
  UNION SELECT station FROM ack WHERE station > ?1
  ORDER BY 1 LIMIT ?2
)
