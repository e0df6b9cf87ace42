-- Avatars of stations. Separate from station, because images are large. An empty hash is a cleared avatar; a station
-- without a row never set one.
CREATE TABLE avatar (
  station TEXT PRIMARY KEY REFERENCES station (key) ON DELETE CASCADE,
  icon TEXT NOT NULL,
  hash TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  image TEXT NOT NULL
) STRICT;
