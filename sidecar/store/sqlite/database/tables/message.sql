-- Messages in the order of their arrival, so that messages which arrive together are neighbours in the file. The ring
-- of a station is its newest `per_station` rows. An index in memory lists these rows. Older rows were dropped from the
-- ring, and stay while duplicates of them may arrive. A row with a negative `time` is in no ring, even if rings grow
-- later.
CREATE TABLE message (
  -- The stamp: a unique server time in milliseconds.
  time INTEGER PRIMARY KEY,
  station TEXT NOT NULL,
  source TEXT NOT NULL,
  seq_id TEXT NOT NULL,
  text BLOB NOT NULL,
  -- Wall-clock time of the arrival, even if the clock was wrong. The detection of duplicates uses it.
  received_at INTEGER NOT NULL,
  -- Wall-clock time of the first ack; null if the message was not acknowledged.
  acked_at INTEGER,
  -- The addressee, if it is another SSID of the station's callsign; otherwise null.
  addressee TEXT
) STRICT;
CREATE INDEX message_other_ssid ON message (station, time) WHERE addressee IS NOT NULL;
