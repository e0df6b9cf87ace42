-- Avatars of stations. They are separate from the table station, because images are large. An empty hash means that the
-- station cleared its avatar. A station without a row never set one.
CREATE TABLE avatar (
  station TEXT PRIMARY KEY REFERENCES station (key) ON DELETE CASCADE,
  icon TEXT NOT NULL,
  hash TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  image TEXT NOT NULL
) STRICT;
