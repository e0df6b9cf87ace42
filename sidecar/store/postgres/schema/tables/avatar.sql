-- Avatars of stations. They are separate from the table station, because images are large. An empty hash means that the
-- station cleared its avatar. A station without a row never set one.
CREATE TABLE avatar (
  station text COLLATE "C" PRIMARY KEY,
  icon text NOT NULL,
  hash text NOT NULL,
  updated_at bigint NOT NULL,
  image text NOT NULL
);
