-- A database as version 5 wrote it, to the letter. Later versions have to open it: change nothing in here.
-- Texts are in hex. N0CALL-7 has an image, N1CALL an icon, N2CALL-5 has cleared its avatar, N3CALL never had one.
BEGIN;
CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    reserved_time INTEGER NOT NULL,
    per_station INTEGER NOT NULL
  ) STRICT;
CREATE TABLE "station" (
    key TEXT PRIMARY KEY,
    platform TEXT NOT NULL CHECK (platform IN ('android', 'ios', 'webpush')),
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
CREATE TABLE "message" (
    time INTEGER PRIMARY KEY,
    station TEXT NOT NULL,
    source TEXT NOT NULL,
    seq_id TEXT NOT NULL,
    text BLOB NOT NULL,
    received_at INTEGER NOT NULL
  ) STRICT;
CREATE TABLE cursor (
    station TEXT PRIMARY KEY REFERENCES station (key) ON DELETE CASCADE,
    asked INTEGER NOT NULL,
    seen INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
INSERT INTO state VALUES (1, 1700000090000, 50);
INSERT INTO station VALUES ('N0CALL-7', 'android', 'token-of-N0CALL', 0, 1, 1700000000001, 1700000050000, 1700000000011);
INSERT INTO station VALUES ('N1CALL', 'ios', 'aa11', 1, 0, 1700000000002, 1700000050000, 1700000000002);
INSERT INTO station VALUES ('N2CALL-5', 'android', 'token-of-N2CALL', 0, 0, 1700000000003, 1700000050000, 1700000000003);
INSERT INTO station VALUES ('N3CALL', 'ios', 'bb22', 0, 0, 1700000000004, 1700000050000, 1700000000004);
INSERT INTO avatar VALUES ('N0CALL-7', 'dog', '0ef61b2d7d4b3f3d6b1d0c58e1e5a1a5f2f6f4a3a7a9b1c2d3e4f5061728394a', 1700000000005, 'iVBORw0KGgo=');
INSERT INTO avatar VALUES ('N1CALL', 'cat', 'icon:cat', 1700000000006, '');
INSERT INTO avatar VALUES ('N2CALL-5', '', '', 1700000000007, '');
INSERT INTO message VALUES (-9007199254740984, 'N3CALL', 'W1AW', '9', x'6c6f73742066726f6d207468652072696e67', 1700000000003);
INSERT INTO message VALUES (1700000000010, 'N0CALL-7', 'W1AW', '1', x'476f6f64206d6f726e696e67', 1700000000010);
INSERT INTO message VALUES (1700000000011, 'N0CALL-7', 'N1CALL', 'AB}CD', x'', 1700000000011);
INSERT INTO message VALUES (1700000000012, 'N0CALL-7', 'W1AW', '', x'4772fcdf65', 1700000000012);
INSERT INTO message VALUES (1700000000013, 'N3CALL', 'W1AW', 'é', x'3733', 1700000000013);
INSERT INTO cursor VALUES ('N0CALL-7', 1700000000005, 1700000000011);
PRAGMA application_id = 1835234147;
PRAGMA user_version = 5;
COMMIT;
