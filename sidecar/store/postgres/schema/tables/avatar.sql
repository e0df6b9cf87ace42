-- Avatars of stations. Separate from station, because images are large. An empty hash is a cleared avatar; a station
-- without a row never set one.
CREATE TABLE avatar (
  station text COLLATE "C" PRIMARY KEY,
  icon text NOT NULL,
  hash text NOT NULL,
  updated_at bigint NOT NULL,
  image text NOT NULL
);
