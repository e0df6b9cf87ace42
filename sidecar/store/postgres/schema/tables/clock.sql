-- One row, which puts all writes in order.
--
-- A transaction that needs stamps first updates this row, and so locks it until its commit. Therefore commits happen in
-- the order of the stamps. A snapshot that shows `last` shows every row with an older stamp.
CREATE TABLE clock (
  id int PRIMARY KEY CHECK (id = 1),
  -- A stamp that no committed stamp exceeds.
  last bigint NOT NULL,
  -- Number of slots in each ring.
  per_station int NOT NULL,
  -- Number of stations. Counting 36,000 rows takes milliseconds, and every transaction would wait for that.
  station_count int NOT NULL,
  -- Version of the schema.
  version int NOT NULL,
  -- The changes up to this version in station_change may have been deleted.
  changes_since bigint NOT NULL,
  -- Time since when at least one instance has always run, except for gaps of less than 2 hours (see note_presence).
  present_since bigint NOT NULL,
  -- The newest timeline that an instance recorded, and the identity of the server that had it.
  timeline int NOT NULL DEFAULT 0,
  server bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO clock (id, last, per_station, station_count, version, changes_since, present_since)
  VALUES (1, 0, 0, 0, 0, 0, now_ms());
