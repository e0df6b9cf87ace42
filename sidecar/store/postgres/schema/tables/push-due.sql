-- Pending notifications, one row per device. `station` is the key of the device.
CREATE TABLE push_due (
  station text COLLATE "C" PRIMARY KEY,
  newest bigint NOT NULL,
  oldest_at bigint NOT NULL,
  due_at bigint NOT NULL,
  -- Time at which the row is due again, because a message arrived during the lease; null if none arrived.
  again_at bigint,
  lease_until bigint NOT NULL DEFAULT 0,
  owner text NOT NULL DEFAULT '',
  tries int NOT NULL DEFAULT 0,
  refusals int NOT NULL DEFAULT 0,
  first_try_at bigint
) WITH (fillfactor = 50);
CREATE INDEX push_due_due ON push_due (due_at);
