-- Notes how far devices were notified. ?1: JSON of an array of [station, id, stamp].
UPDATE device SET pushed_through = mark.time
FROM (
  SELECT value ->> 0 AS station, value ->> 1 AS id, max(value ->> 2) AS time FROM json_each(?1) GROUP BY 1, 2
) AS mark
WHERE device.station = mark.station AND device.id = mark.id AND pushed_through < mark.time
