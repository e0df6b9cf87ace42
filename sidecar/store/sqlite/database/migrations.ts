import { StoreError } from '../../../errors.ts'
import type { Connection } from './connection.ts'

/** Marks a SQLite file as ours (`PRAGMA application_id`): "mcsc". */
const APPLICATION_ID = 0x6d637363

/**
 * The schema, one step per version; step n makes version n out of n - 1. A step that was released is never changed.
 *
 * - `state`: one row. `reserved_time`: no stamp above it was ever issued, none at or below it ever will be again.
 *   `per_station`: the ring size that the file was last used with.
 * - `station`: has at least one `device`. `proven`: it registered again, synced, or a gateway accepted its token;
 *   others make room in a full registry.
 * - `device`: `pushed_through` is the stamp up to which that was told, or given up on; `asked` the newest cursor that
 *   it brought, or an older one. `first_token`: its first push token, once another one has replaced that.
 * - `avatar`: apart from the station, since its image is large and the station's row is written at each push. A row
 *   with an empty hash is a cleared avatar, no row one that was never set.
 * - `message`: in the order of coming, so that what comes together goes to one place of the file, whoever it is for;
 *   whose ring is where is in memory. Of each station the newest `per_station` are its ring; those before them were
 *   dropped from it and stay while a duplicate of them may come. `time` is a stamp, `received_at` what the wall clock
 *   said, right or wrong: duplicates are judged by that. A row whose `time` is below 0 is in no ring, however much room
 *   there is.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    reserved_time INTEGER NOT NULL,
    per_station INTEGER NOT NULL
  ) STRICT;
  INSERT INTO state VALUES (1, 0, 0);

  CREATE TABLE station (
    key TEXT PRIMARY KEY,
    platform TEXT NOT NULL CHECK (platform IN ('android', 'ios')),
    push_token TEXT NOT NULL,
    token_dead INTEGER NOT NULL DEFAULT 0 CHECK (token_dead IN (0, 1)),
    ack_messages INTEGER NOT NULL CHECK (ack_messages IN (0, 1)),
    registered_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    pushed_through INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE avatar (
    station TEXT PRIMARY KEY REFERENCES station (key) ON DELETE CASCADE,
    icon TEXT NOT NULL,
    hash TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    image TEXT NOT NULL
  ) STRICT;

  CREATE TABLE message (
    station TEXT NOT NULL REFERENCES station (key) ON DELETE CASCADE,
    time INTEGER NOT NULL,
    source TEXT NOT NULL,
    seq_id TEXT NOT NULL,
    text BLOB NOT NULL,
    PRIMARY KEY (station, time)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE message ADD COLUMN received_at INTEGER NOT NULL DEFAULT 0;
  UPDATE message SET received_at = time;

  CREATE TABLE dropped (
    id INTEGER PRIMARY KEY,
    station TEXT NOT NULL,
    source TEXT NOT NULL,
    seq_id TEXT NOT NULL,
    text BLOB NOT NULL,
    received_at INTEGER NOT NULL
  ) STRICT;
  `,
  `
  CREATE TABLE cursor (
    station TEXT PRIMARY KEY REFERENCES station (key) ON DELETE CASCADE,
    asked INTEGER NOT NULL,
    seen INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // The platform webpush. SQLite changes no constraint in place.
  `
  CREATE TABLE station_anew (
    key TEXT PRIMARY KEY,
    platform TEXT NOT NULL CHECK (platform IN ('android', 'ios', 'webpush')),
    push_token TEXT NOT NULL,
    token_dead INTEGER NOT NULL DEFAULT 0 CHECK (token_dead IN (0, 1)),
    ack_messages INTEGER NOT NULL CHECK (ack_messages IN (0, 1)),
    registered_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    pushed_through INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO station_anew
    SELECT key, platform, push_token, token_dead, ack_messages, registered_at, last_seen_at, pushed_through FROM station;
  DROP TABLE station;
  ALTER TABLE station_anew RENAME TO station;
  `,
  // Messages in the order of coming. What was dropped has no stamp any more: it gets one far below 0, in the order of
  // dropping, from which no stamp that is moved below 0 later can be taken for one of these.
  `
  CREATE TABLE message_anew (
    time INTEGER PRIMARY KEY,
    station TEXT NOT NULL,
    source TEXT NOT NULL,
    seq_id TEXT NOT NULL,
    text BLOB NOT NULL,
    received_at INTEGER NOT NULL
  ) STRICT;
  INSERT INTO message_anew
    SELECT id - 9007199254740991, station, source, seq_id, text, received_at FROM dropped ORDER BY id;
  INSERT INTO message_anew
    SELECT time, station, source, seq_id, text, received_at FROM message ORDER BY time;
  DROP TABLE dropped;
  DROP TABLE message;
  ALTER TABLE message_anew RENAME TO message;
  `,
  // Several phones of a station, each with its cursor. Those that are there have no name.
  `
  CREATE TABLE device (
    station TEXT NOT NULL REFERENCES station (key) ON DELETE CASCADE,
    id TEXT NOT NULL,
    platform TEXT NOT NULL CHECK (platform IN ('android', 'ios', 'webpush')),
    push_token TEXT NOT NULL,
    token_dead INTEGER NOT NULL DEFAULT 0 CHECK (token_dead IN (0, 1)),
    ack_messages INTEGER NOT NULL CHECK (ack_messages IN (0, 1)),
    registered_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    pushed_through INTEGER NOT NULL,
    asked INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (station, id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO device
    SELECT key, '', platform, push_token, token_dead, ack_messages, registered_at, last_seen_at, pushed_through,
      coalesce(asked, 0)
    FROM station LEFT JOIN cursor ON cursor.station = key;
  DROP TABLE cursor;
  CREATE TABLE station_anew (key TEXT PRIMARY KEY, registered_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO station_anew SELECT key, registered_at FROM station;
  DROP TABLE station;
  ALTER TABLE station_anew RENAME TO station;
  `,
  // Stations that a stranger may have made up. A station is proven if its file shows a cursor, a notification, another
  // device or a later call.
  `
  ALTER TABLE device ADD COLUMN first_token TEXT;
  ALTER TABLE station ADD COLUMN proven INTEGER NOT NULL DEFAULT 0 CHECK (proven IN (0, 1));
  UPDATE station SET proven = 1 WHERE EXISTS (
    SELECT 1 FROM device WHERE device.station = key AND (
      id <> '' OR asked > 0 OR pushed_through > device.registered_at OR last_seen_at > device.registered_at + 3600000));
  CREATE INDEX station_unproven ON station (registered_at) WHERE proven = 0;
  `,
]

/** Which version the file is of, 0 for a new one. Refuses what we must not touch; changes nothing. */
export async function schemaVersion(connection: Connection, newest = MIGRATIONS.length): Promise<number> {
  const [found] = await connection.all<{ version: number; application: number; tables: number }>(
    `SELECT user_version AS version, application_id AS application, (SELECT count(*) FROM sqlite_schema) AS tables
     FROM pragma_user_version, pragma_application_id`,
  )
  if (!found) throw new StoreError('store_fault')
  const empty = found.version === 0 && found.application === 0 && found.tables === 0
  if (!empty && found.application !== APPLICATION_ID) throw new StoreError('database_foreign')
  if (found.version > newest) throw new StoreError('database_newer')
  return found.version
}

/**
 * Takes the file from `version` to the newest, a transaction a step: one that is interrupted starts over at the next
 * open. Foreign keys have to be off: a table that is made anew is dropped first, and with them everything that refers
 * to its rows would go too.
 */
export async function migrate(connection: Connection, version: number, steps = MIGRATIONS): Promise<void> {
  for (const [index, step] of steps.entries()) {
    if (index < version) continue
    try {
      await connection.exec(
        `BEGIN IMMEDIATE; ${step}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${index + 1}; COMMIT;`,
      )
    } catch (error) {
      await connection.exec('ROLLBACK').catch(() => undefined) // SQLite may have rolled back by itself
      throw error
    }
  }
}
