/**
 * The tables, one step per version; step n makes version n out of n - 1. A step that was released is never changed, and
 * only adds: instances of the version before go on beside those of the new one. Times are in milliseconds since 1970.
 * There are no foreign keys: what removes a station deletes everything that is its.
 *
 * - `now_ms()`: the only clock that SQL here knows. Among the tables, since it is made once: a test puts its own in its
 *   place.
 * - `clock`: one row. `last` is newer than every stamp that was committed. Whoever needs stamps updates it first and so
 *   holds it to the commit: commits happen in the order of the stamps, and a snapshot that shows `last` shows all that
 *   is older. `station_count`: how many there are, since counting 36,000 takes milliseconds for which everybody would
 *   wait. `version` is that of the tables. `changes_since`: of what `station_change` said up to it, some is deleted.
 *   `present_since`: from then on some instance was there at all times, but for gaps in which no phone can have been
 *   missed. `timeline`: in which `server` last wrote, as instances saw it.
 * - `station`: what a station has for itself is `key`, `registered_at` and `proven`, as in SQLite's file. The rest is
 *   what 0.2.0 takes for its phone, as it was when the station came; its instances learn what counts from the
 *   functions. `avatar`: apart from it, since its image is large.
 * - `device`: as in SQLite's file, `first_token` too. `key` is `CALL-SSID` for the one that has no id, `CALL-SSID id`
 *   for others: neither has blanks, and where 0.2.0 writes a station's key, it means that device.
 * - `ring`: what a station has of places for messages, made with its first one, so that its ring lies on one or two
 *   pages; `time` 0 is a place that is free still. `time` is in no index, so that an update stays on its page (HOT).
 *   Calls, numbers and texts are `bytea`: text here takes no NUL.
 * - `dropped`: what a ring had no room for although a duplicate of it may still come. `identity` is what equal messages
 *   have in common.
 * - `station_change`: which stations to look at again, by the stamp of the change; kept for a day.
 * - `push_due`: devices that are to be told of something; `station` is the device's key. 0.2.0 takes those with an id
 *   for left over, and clears them away once an hour: what they are to be told of they hear with the next message, or
 *   by a sync.
 * - `ack_sent`: when each ack was last sent. Whoever writes it sends it, once that is committed.
 * - `keyring`: secrets that all instances have alike.
 * - `instance`: those that are there, and were; `owner` tells two lives of one name apart, and is empty once it has
 *   ended.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

  CREATE TABLE clock (
    id int PRIMARY KEY CHECK (id = 1),
    last bigint NOT NULL,
    per_station int NOT NULL,
    station_count int NOT NULL,
    version int NOT NULL,
    changes_since bigint NOT NULL,
    present_since bigint NOT NULL
  ) WITH (fillfactor = 10);
  INSERT INTO clock VALUES (1, 0, 0, 0, 0, 0, now_ms());

  CREATE TABLE station (
    key text COLLATE "C" PRIMARY KEY,
    platform text NOT NULL,
    push_token text NOT NULL,
    token_dead boolean NOT NULL DEFAULT false,
    ack_messages boolean NOT NULL,
    registered_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    pushed_through bigint NOT NULL,
    asked bigint NOT NULL DEFAULT 0,
    seen bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70);

  CREATE TABLE avatar (
    station text COLLATE "C" PRIMARY KEY,
    icon text NOT NULL,
    hash text NOT NULL,
    updated_at bigint NOT NULL,
    image text NOT NULL
  );

  CREATE TABLE ring (
    station text COLLATE "C" NOT NULL,
    slot int NOT NULL,
    time bigint NOT NULL,
    source bytea NOT NULL,
    seq_id bytea NOT NULL,
    text bytea NOT NULL,
    identity bytea NOT NULL,
    received_at bigint NOT NULL,
    PRIMARY KEY (station, slot)
  ) WITH (fillfactor = 70);

  CREATE TABLE dropped (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    station text COLLATE "C" NOT NULL,
    identity bytea NOT NULL,
    received_at bigint NOT NULL
  );
  CREATE INDEX dropped_identity ON dropped (station, identity, id);

  CREATE TABLE station_change (version bigint PRIMARY KEY, key text COLLATE "C" NOT NULL);

  CREATE TABLE new_station (client text COLLATE "C" NOT NULL, at bigint NOT NULL);
  CREATE INDEX new_station_client ON new_station (client, at);

  CREATE TABLE push_due (
    station text COLLATE "C" PRIMARY KEY,
    newest bigint NOT NULL,
    oldest_at bigint NOT NULL,
    due_at bigint NOT NULL,
    again_at bigint,
    lease_until bigint NOT NULL DEFAULT 0,
    owner text NOT NULL DEFAULT '',
    tries int NOT NULL DEFAULT 0,
    refusals int NOT NULL DEFAULT 0,
    first_try_at bigint
  ) WITH (fillfactor = 50);
  CREATE INDEX push_due_due ON push_due (due_at);

  CREATE UNLOGGED TABLE ack_sent (
    sender bytea NOT NULL,
    addressee text COLLATE "C" NOT NULL,
    source bytea NOT NULL,
    seq_id bytea NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (sender, addressee, source, seq_id)
  ) WITH (fillfactor = 70);
  CREATE INDEX ack_sent_at ON ack_sent (at);

  CREATE TABLE instance (
    name text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    note text NOT NULL
  ) WITH (fillfactor = 50);

  CREATE TABLE lease (
    name text COLLATE "C" PRIMARY KEY,
    instance text NOT NULL,
    owner text NOT NULL,
    lease_until bigint NOT NULL,
    note text NOT NULL
  ) WITH (fillfactor = 50);
  `,
  `
  CREATE TABLE keyring (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
  `,
  // So that the commit that marks an ack waits for a synchronous standby, as that of the message did: it may have been
  // broken off.
  `
  ALTER TABLE ack_sent SET LOGGED;
  `,
  // The functions come back with arguments more at their end, which have defaults: those of 0.2.0 mean the device
  // without an id.
  `
  CREATE TABLE device (
    key text COLLATE "C" PRIMARY KEY,
    station text COLLATE "C" NOT NULL,
    platform text NOT NULL,
    push_token text NOT NULL,
    token_dead boolean NOT NULL DEFAULT false,
    ack_messages boolean NOT NULL,
    registered_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    pushed_through bigint NOT NULL,
    asked bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70);
  CREATE INDEX device_station ON device (station);
  ALTER TABLE clock ADD COLUMN timeline int NOT NULL DEFAULT 0, ADD COLUMN server bigint NOT NULL DEFAULT 0;
  INSERT INTO device
    SELECT key, key, platform, push_token, token_dead, ack_messages, registered_at, last_seen_at, pushed_through, asked FROM station;

  DROP FUNCTION IF EXISTS
    register_station(text, text, text, boolean, text, text, text, int, text, int),
    remove_station(text, bigint), claim_pushes(text, text[], int[], int);
  `,
  // Stations that a stranger may have made up. A station is proven if its rows show a cursor, a notification, another
  // device or a later call.
  `
  ALTER TABLE device ADD COLUMN first_token text;
  ALTER TABLE station ADD COLUMN proven boolean NOT NULL DEFAULT false;
  UPDATE station SET proven = true WHERE EXISTS (
    SELECT FROM device WHERE device.station = station.key AND (
      device.key <> device.station OR device.asked > 0 OR device.pushed_through > device.registered_at
        OR device.last_seen_at > device.registered_at + 3600000));
  CREATE INDEX station_unproven ON station (registered_at) WHERE NOT proven;
  `,
]
