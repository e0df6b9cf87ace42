-- Devices of stations. There are no foreign keys: the functions that remove a station delete all its rows.
CREATE TABLE device (
  -- `CALL-SSID` for a device without an id, `CALL-SSID id` for any other. Neither part contains blanks.
  key text COLLATE "C" PRIMARY KEY,
  station text COLLATE "C" NOT NULL,
  platform text NOT NULL,
  push_token text NOT NULL,
  token_dead boolean NOT NULL DEFAULT false,
  ack_messages boolean NOT NULL,
  -- Senders whose messages the device does not get: callsigns, separated by blanks.
  blocked text NOT NULL DEFAULT '',
  -- Whether the device also gets messages to the other SSIDs of its callsign.
  any_ssid boolean NOT NULL DEFAULT false,
  -- Whether the device gets the acks that the station receives.
  want_acks boolean NOT NULL DEFAULT false,
  registered_at bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  -- Stamp up to which the device was notified of messages, or the sidecar gave up notifying.
  pushed_through bigint NOT NULL,
  -- The newest cursor that the device sent. It may be older, because cursors are written with a delay.
  newest_cursor bigint NOT NULL DEFAULT 0,
  -- The device's first push token; null until another token replaces it.
  first_token text,
  -- The result of the last try to notify the device, for the operator.
  last_push_at bigint,
  last_push_outcome text,
  last_push_reason text
) WITH (fillfactor = 70);
CREATE INDEX device_station ON device (station);
