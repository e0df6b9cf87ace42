-- One row.
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- No stamp above it was ever issued, and none up to it will be issued again.
  reserved_time INTEGER NOT NULL,
  -- The ring size with which the file was last used; 0 before the first use.
  per_station INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0);
