-- Registered stations. Each has at least one row in the table device.
CREATE TABLE station (
  key TEXT PRIMARY KEY,
  registered_at INTEGER NOT NULL,
  -- 1 once the station registers again or syncs, or a push gateway accepts its token. If the registry is full, a new
  -- station replaces an unproven one.
  proven INTEGER NOT NULL DEFAULT 0 CHECK (proven IN (0, 1)),
  -- Stamp of the newest message that was dropped from the ring and is no longer in the file; 0 if there is none.
  dropped_through INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX station_unproven ON station (registered_at) WHERE proven = 0;
