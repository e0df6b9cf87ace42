-- Leases that instances hold, such as the one for housekeeping.
CREATE TABLE lease (
  name text COLLATE "C" PRIMARY KEY,
  instance text NOT NULL,
  owner text NOT NULL,
  lease_until bigint NOT NULL,
  note text NOT NULL
) WITH (fillfactor = 50);
