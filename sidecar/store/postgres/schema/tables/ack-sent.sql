-- The time at which each ack was last sent. The instance that writes a row sends the ack after its commit. The table is
-- logged, so that this commit waits for a synchronous standby, like the commit of the message.
CREATE TABLE ack_sent (
  sender bytea NOT NULL,
  addressee text COLLATE "C" NOT NULL,
  source bytea NOT NULL,
  seq_id bytea NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (sender, addressee, source, seq_id)
) WITH (fillfactor = 70);
CREATE INDEX ack_sent_at ON ack_sent (at);
