-- The state of the file, in one row.
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- No stamp above this one was ever issued. New stamps are above it.
  reserved_time INTEGER NOT NULL,
  -- The ring size with which the file was last used; 0 before the first use.
  per_station INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0);
