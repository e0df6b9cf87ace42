-- Messages that were dropped from their rings, as long as duplicates of them may arrive. Equal messages have equal
-- identities.
CREATE TABLE dropped (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  station text COLLATE "C" NOT NULL,
  identity bytea NOT NULL,
  received_at bigint NOT NULL
);
CREATE INDEX dropped_identity ON dropped (station, identity, id);
