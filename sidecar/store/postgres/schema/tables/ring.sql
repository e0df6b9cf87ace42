-- Slots for the messages of stations. All slots of a station are created with its first message, so that its ring is on
-- one or two pages. Callsigns, numbers and texts are bytea, because the type text does not allow NUL.
CREATE TABLE ring (
  station text COLLATE "C" NOT NULL,
  slot int NOT NULL,
  -- The stamp; 0 for a free slot. In no index, so that an update stays on its page (HOT).
  time bigint NOT NULL,
  source bytea NOT NULL,
  seq_id bytea NOT NULL,
  text bytea NOT NULL,
  identity bytea NOT NULL,
  received_at bigint NOT NULL,
  -- The message that the ring dropped for this one, or a later one before this one; 0 if there is none. The highest of
  -- a ring is the newest message that it has dropped.
  replaced bigint NOT NULL DEFAULT 0,
  -- When the message was first acknowledged; null if it was not.
  acked_at bigint,
  -- The addressee, if it is another SSID of the station's callsign; otherwise empty.
  addressee bytea NOT NULL DEFAULT '',
  PRIMARY KEY (station, slot)
) WITH (fillfactor = 70);
