-- Gives every ring that has messages `places` slots. If a ring has more messages, keeps the newest ones. All instances
-- use the size set by the instance that started last. Locks the clock, as every function does that writes into rings. A
-- free slot contains the same text as in make_rings.
CREATE OR REPLACE FUNCTION fit_rings(places int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF places = (SELECT per_station FROM clock) THEN RETURN; END IF;
  PERFORM take_stamp();
  -- Another instance that starts at the same time may have fitted the rings meanwhile.
  IF places = (SELECT per_station FROM clock) THEN RETURN; END IF;
  -- Puts the newest message into the last slot, and older ones in order before it.
  WITH removed AS (
    DELETE FROM ring RETURNING *
  ), ranked AS (
    SELECT removed.*, places - row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place FROM removed
  ), fitted AS (
    SELECT * FROM ranked WHERE time > 0
  ), dropped AS (
    SELECT station AS key, max(CASE WHEN place < 0 THEN greatest(time, replaced) ELSE replaced END) AS newest
    FROM ranked GROUP BY station
  )
  INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at, replaced, acked_at,
      addressee)
    SELECT key, one.place, coalesce(time, 0), coalesce(source, ''), coalesce(seq_id, ''),
      coalesce(text, repeat(' ', 92)::bytea), coalesce(identity, ''), coalesce(received_at, 0), newest, acked_at,
      coalesce(addressee, '')
    FROM (SELECT DISTINCT station AS key FROM fitted) AS filled JOIN station USING (key) JOIN dropped USING (key)
      CROSS JOIN generate_series(0, places - 1) AS one (place)
      LEFT JOIN fitted ON fitted.station = key AND fitted.place = one.place
    ORDER BY key, one.place;
  UPDATE clock SET per_station = places;
END $$;
