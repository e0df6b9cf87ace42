-- Slots for the messages of stations. A station's first message creates all its slots, so that its ring is on one or
-- two pages. Callsigns, message numbers and texts are bytea, because the type text does not allow NUL.
CREATE TABLE ring (
  station text COLLATE "C" NOT NULL,
  slot int NOT NULL,
  -- The stamp; 0 for a free slot. No index includes it, so that an update stays on its page (HOT).
  time bigint NOT NULL,
  source bytea NOT NULL,
  seq_id bytea NOT NULL,
  text bytea NOT NULL,
  identity bytea NOT NULL,
  received_at bigint NOT NULL,
  -- Stamp of the newest message that left the ring for this one or for an earlier one in this slot; 0 if there is none.
  -- The maximum of a ring is the newest message that it has dropped.
  replaced bigint NOT NULL DEFAULT 0,
  -- Time of the first ack; null if the message was not acknowledged.
  acked_at bigint,
  -- The addressee, if it is another SSID of the station's callsign; otherwise empty.
  addressee bytea NOT NULL DEFAULT '',
  PRIMARY KEY (station, slot)
) WITH (fillfactor = 70);
