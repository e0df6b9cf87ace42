-- Registered stations. Each has at least one row in the table device.
CREATE TABLE station (
  key text COLLATE "C" PRIMARY KEY,
  registered_at bigint NOT NULL,
  -- True once the station registers again or syncs, or a push gateway accepts its token. If the registry is full, a new
  -- station replaces an unproven one.
  proven boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX station_unproven ON station (registered_at) WHERE NOT proven;
