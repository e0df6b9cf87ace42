-- Registered callsigns. Each has at least one row in device.
CREATE TABLE station (
  key TEXT PRIMARY KEY,
  registered_at INTEGER NOT NULL,
  -- The station registered again or synced, or a push gateway accepted its token. Others make room in a full registry.
  proven INTEGER NOT NULL DEFAULT 0 CHECK (proven IN (0, 1)),
  -- The newest message that was dropped from the ring and is no longer in the file; 0 if there is none.
  dropped_through INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX station_unproven ON station (registered_at) WHERE proven = 0;
