-- One row, which orders everything that is written.
--
-- A transaction that needs stamps first updates this row and so locks it until its commit. Commits therefore happen in
-- the order of the stamps, and a snapshot that shows `last` shows every row with an older stamp.
CREATE TABLE clock (
  id int PRIMARY KEY CHECK (id = 1),
  -- Newer than every committed stamp.
  last bigint NOT NULL,
  -- Slots per ring.
  per_station int NOT NULL,
  -- Number of stations. Counting 36,000 rows takes milliseconds, and every transaction would wait for that.
  station_count int NOT NULL,
  -- Version of the schema.
  version int NOT NULL,
  -- Some rows of station_change with this version or an older one are deleted.
  changes_since bigint NOT NULL,
  -- Since then, some instance was up at all times, except for gaps in which no phone can have called in vain.
  present_since bigint NOT NULL,
  -- The timeline in which `server` last wrote, as instances saw it.
  timeline int NOT NULL DEFAULT 0,
  server bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO clock (id, last, per_station, station_count, version, changes_since, present_since)
  VALUES (1, 0, 0, 0, 0, 0, now_ms());
