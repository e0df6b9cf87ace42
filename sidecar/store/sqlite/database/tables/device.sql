-- Devices of stations. A station's device that sends no device id has an empty id.
CREATE TABLE device (
  station TEXT NOT NULL REFERENCES station (key) ON DELETE CASCADE,
  id TEXT NOT NULL,
  platform TEXT NOT NULL CHECK (platform IN ('android', 'ios', 'webpush')),
  push_token TEXT NOT NULL,
  token_dead INTEGER NOT NULL DEFAULT 0 CHECK (token_dead IN (0, 1)),
  ack_messages INTEGER NOT NULL CHECK (ack_messages IN (0, 1)),
  -- Senders whose messages the device does not get: callsigns, separated by blanks.
  blocked TEXT NOT NULL DEFAULT '',
  -- Whether the device also gets messages to the other SSIDs of its callsign.
  any_ssid INTEGER NOT NULL DEFAULT 0 CHECK (any_ssid IN (0, 1)),
  -- Whether the device gets the acks that the station receives.
  want_acks INTEGER NOT NULL DEFAULT 0 CHECK (want_acks IN (0, 1)),
  registered_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  -- Stamp up to which the device was notified of messages, or the sidecar gave up notifying.
  pushed_through INTEGER NOT NULL,
  -- The newest cursor that the device sent. It may be older, because cursors are written with a delay.
  newest_cursor INTEGER NOT NULL DEFAULT 0,
  -- The device's first push token; null until another token replaces it.
  first_token TEXT,
  -- The result of the last try to notify the device, for the operator.
  last_push_at INTEGER,
  last_push_outcome TEXT,
  last_push_reason TEXT,
  PRIMARY KEY (station, id)
) STRICT, WITHOUT ROWID;
