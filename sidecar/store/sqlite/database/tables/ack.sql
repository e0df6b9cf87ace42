-- Acks and rejections of messages that stations sent. A station has rows only if one of its devices wanted acks.
CREATE TABLE ack (
  -- The stamp: a unique server time in milliseconds. Messages and acks share one sequence of stamps.
  time INTEGER PRIMARY KEY,
  station TEXT NOT NULL REFERENCES station (key) ON DELETE CASCADE,
  source TEXT NOT NULL,
  seq_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('ack', 'rej')),
  -- Wall-clock time in milliseconds at which the ack arrived.
  received_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ack_station ON ack (station, time);
