/**
 * What stands as the text of a place that is free: as much as a message takes. So the first message in a place finds
 * room for itself on the page: all updates stay on their pages, where 37 of 100 did not, and a look through a full ring
 * costs 25 µs, not 42.
 */
const FREE_TEXT = "repeat(' ', 92)::bytea"

/**
 * Makes all places of the rings of these stations, with the first message of each, so that a ring lies on one or two
 * pages. They cost 0.5 ms a station, which registrations do not have to wait for. Under the clock.
 */
export const MAKE_RINGS = `
CREATE OR REPLACE FUNCTION make_rings(stations text[], places int) RETURNS void LANGUAGE sql VOLATILE AS $$
  INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
    SELECT station, slot, 0, '', '', ${FREE_TEXT}, '', 0
    FROM (SELECT DISTINCT unnest(stations) AS station) AS one CROSS JOIN generate_series(0, places - 1) AS slot
    ORDER BY station, slot
$$`

/**
 * Gives all rings with messages `places` places; of those that have more messages, the newest ones stay. All instances
 * go by the size that the one that started last has set. Under the clock, as whatever else writes into rings.
 */
export const FIT_RINGS = `
CREATE OR REPLACE FUNCTION fit_rings(places int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF places = (SELECT per_station FROM clock) THEN RETURN; END IF;
  PERFORM take_stamp();
  -- Another instance that started with this one may have done it meanwhile.
  IF places = (SELECT per_station FROM clock) THEN RETURN; END IF;
  -- The newest message in the last place, the older ones in order before it.
  WITH removed AS (
    DELETE FROM ring RETURNING *
  ), fitted AS (
    SELECT removed.*, places - row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place FROM removed WHERE time > 0
  )
  INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
    SELECT key, one.place, coalesce(time, 0), coalesce(source, ''), coalesce(seq_id, ''), coalesce(text, ${FREE_TEXT}),
      coalesce(identity, ''), coalesce(received_at, 0)
    FROM (SELECT DISTINCT station AS key FROM fitted) AS filled JOIN station USING (key)
      CROSS JOIN generate_series(0, places - 1) AS one (place)
      LEFT JOIN fitted ON fitted.station = key AND fitted.place = one.place
    ORDER BY key, one.place;
  UPDATE clock SET per_station = places;
END $$`
