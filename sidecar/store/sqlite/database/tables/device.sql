-- Devices of stations. The id is empty for the device that has none.
CREATE TABLE device (
  station TEXT NOT NULL REFERENCES station (key) ON DELETE CASCADE,
  id TEXT NOT NULL,
  platform TEXT NOT NULL CHECK (platform IN ('android', 'ios', 'webpush')),
  push_token TEXT NOT NULL,
  token_dead INTEGER NOT NULL DEFAULT 0 CHECK (token_dead IN (0, 1)),
  ack_messages INTEGER NOT NULL CHECK (ack_messages IN (0, 1)),
  -- Callsigns of senders whose messages the device does not get, separated by blanks.
  blocked TEXT NOT NULL DEFAULT '',
  -- Whether the device also gets messages to the other SSIDs of its callsign.
  any_ssid INTEGER NOT NULL DEFAULT 0 CHECK (any_ssid IN (0, 1)),
  -- Whether the device gets the acks that the station receives.
  want_acks INTEGER NOT NULL DEFAULT 0 CHECK (want_acks IN (0, 1)),
  registered_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  -- The device was notified of messages up to this stamp, or the sidecar gave up on them.
  pushed_through INTEGER NOT NULL,
  -- The newest cursor that the device sent, or an older one.
  newest_cursor INTEGER NOT NULL DEFAULT 0,
  -- The first push token of the device, once another one has replaced it.
  first_token TEXT,
  -- The last try to notify the device, for the operator.
  last_push_at INTEGER,
  last_push_outcome TEXT,
  last_push_reason TEXT,
  PRIMARY KEY (station, id)
) STRICT, WITHOUT ROWID;
