-- Takes or renews leases, and returns the names of those that the caller holds now.
--
-- The next process of an instance gets an expired lease at once: it took over the name, so the former process has
-- ended. Other instances get an expired lease only with `take_over`. Rows are locked in the order of names, so that two
-- callers never deadlock.
CREATE OR REPLACE FUNCTION hold_leases(
  wanted text[], its_name text, its_owner text, its_note text, take_over boolean) RETURNS SETOF text
LANGUAGE sql AS $$
  INSERT INTO lease AS held (name, instance, owner, lease_until, note)
    SELECT one, its_name, its_owner, now_ms() + 6000 /* LEASE_MS */, its_note
    FROM (SELECT DISTINCT unnest(wanted) AS one ORDER BY one) AS names
  ON CONFLICT (name) DO UPDATE
    SET instance = excluded.instance, owner = excluded.owner, lease_until = now_ms() + 6000 /* LEASE_MS */,
      note = excluded.note
    WHERE held.owner = excluded.owner
      OR (take_over OR held.instance = excluded.instance)
        AND held.lease_until NOT BETWEEN now_ms() AND now_ms() + 6000 /* LEASE_MS */
  RETURNING held.name
$$;
