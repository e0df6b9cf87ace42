-- Instances that run or have run. `owner` differs between two processes of the same name, and is empty after a stop.
CREATE TABLE instance (
  name text COLLATE "C" PRIMARY KEY,
  owner text NOT NULL,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  note text NOT NULL
) WITH (fillfactor = 50);
