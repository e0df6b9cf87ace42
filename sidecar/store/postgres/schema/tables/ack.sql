-- Acks and rejections of messages that stations sent. A station has rows only if one of its devices wanted acks.
CREATE TABLE ack (
  station text COLLATE "C" NOT NULL,
  -- The stamp: a unique server time in milliseconds. Messages and acks share one sequence of stamps.
  time bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  seq_id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  -- Equal acks have equal identities.
  identity text COLLATE "C" NOT NULL,
  received_at bigint NOT NULL,
  PRIMARY KEY (station, time)
);
