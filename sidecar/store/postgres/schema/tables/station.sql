-- Registered callsigns. Each has at least one row in device.
CREATE TABLE station (
  key text COLLATE "C" PRIMARY KEY,
  registered_at bigint NOT NULL,
  -- The station registered again or synced, or a push gateway accepted its token. Others make room in a full registry.
  proven boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX station_unproven ON station (registered_at) WHERE NOT proven;
