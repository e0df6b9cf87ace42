-- Returns the entries of `ack_of` that the caller must send. The instance that writes the row of ack_sent sends the
-- ack.
--
-- The time is read here, after append may have locked the clock. If it were read before the lock, two instances would
-- each treat the other's ack as an old one.
CREATE OR REPLACE FUNCTION claim_acks(
  stations text[], sources bytea[], kind int[], ack_of int[], ack_sources bytea[], ack_seq_ids bytea[],
  interval_ms bigint, per_minute int, of_sender int)
RETURNS int[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint := now_ms();
  granted int[];
BEGIN
  WITH wanted AS (
    SELECT DISTINCT ON (sender, addressee, source, seq_id) sender, addressee, source, seq_id, i
    FROM unnest(ack_of, ack_sources, ack_seq_ids) WITH ORDINALITY AS ack (message, source, seq_id, i)
      CROSS JOIN LATERAL (SELECT sources[message] AS sender, stations[message] AS addressee) AS of_message
    WHERE kind[message] > 0
      AND EXISTS (
        SELECT FROM device
        WHERE device.station = addressee AND ack_messages AND NOT token_dead
          AND (blocked = '' OR NOT is_blocked(blocked, sender)))
    ORDER BY sender, addressee, source, seq_id, i
  ), unsent AS (
    SELECT wanted.* FROM wanted LEFT JOIN ack_sent AS sent USING (sender, addressee, source, seq_id)
    WHERE sent.at IS NULL OR abs(now - sent.at) >= interval_ms
  ), of_pair AS (
    SELECT unsent.*, row_number() OVER (PARTITION BY sender, addressee ORDER BY i) + (
      SELECT count(*) FROM ack_sent AS sent
      WHERE sent.sender = unsent.sender AND sent.addressee = unsent.addressee AND abs(now - sent.at) < 60000) AS place
    FROM unsent
  ), of_all AS (
    SELECT of_pair.*, row_number() OVER (PARTITION BY sender ORDER BY i) + (
      SELECT count(*) FROM ack_sent AS sent
      WHERE sent.sender = of_pair.sender AND abs(now - sent.at) < 60000) AS place_of_all
    FROM of_pair WHERE place <= per_minute
  ), claimed AS (
    INSERT INTO ack_sent AS sent (sender, addressee, source, seq_id, at)
      SELECT sender, addressee, source, seq_id, now FROM of_all WHERE place_of_all <= of_sender
      ORDER BY sender, addressee COLLATE "C", source, seq_id
      ON CONFLICT (sender, addressee, source, seq_id) DO UPDATE SET at = excluded.at
      WHERE abs(excluded.at - sent.at) >= interval_ms
      RETURNING sender, addressee, source, seq_id
  )
  SELECT coalesce(array_agg(i), '{}') INTO granted FROM wanted JOIN claimed USING (sender, addressee, source, seq_id);
  RETURN granted;
END $$;
