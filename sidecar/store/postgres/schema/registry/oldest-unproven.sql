-- Returns the station to be removed from a full registry, which is none of `others`. Returns null if there is none, or
-- if more than one would have to be removed. Uses the index station_unproven, because anyone can trigger this search
-- with a request.
CREATE OR REPLACE FUNCTION oldest_unproven(at_now bigint, others text[], max_stations int) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT key FROM station
    WHERE NOT proven AND registered_at < at_now - 3600000 /* UNPROVEN_MS */ AND key <> ALL (others)
      AND (SELECT station_count FROM clock) <= max_stations
    ORDER BY registered_at LIMIT 1);
END $$;
