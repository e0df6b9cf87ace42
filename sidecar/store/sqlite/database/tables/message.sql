-- Messages, in the order of their arrival, so that messages which arrive together are neighbours in the file. The ring
-- of a station is its newest `per_station` rows; memory knows where they are. Older rows have left the ring, and stay
-- while a duplicate of them may arrive. A row with a `time` below 0 is in no ring, however large the rings are.
CREATE TABLE message (
  -- The stamp.
  time INTEGER PRIMARY KEY,
  station TEXT NOT NULL,
  source TEXT NOT NULL,
  seq_id TEXT NOT NULL,
  text BLOB NOT NULL,
  -- What the wall clock said, right or wrong. Duplicates are judged by it.
  received_at INTEGER NOT NULL,
  -- When the message was first acknowledged, by the wall clock; null if it was not.
  acked_at INTEGER,
  -- The addressee, if it is another SSID of the station's callsign; otherwise null.
  addressee TEXT
) STRICT;
CREATE INDEX message_other_ssid ON message (station, time) WHERE addressee IS NOT NULL;
