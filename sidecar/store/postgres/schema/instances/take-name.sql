-- Returns whether the caller has the name now. It gets the name if it had it before, or if no instance of that name was
-- seen lately. A time too far in the future was written before the clock was set back, so it does not block the name.
CREATE OR REPLACE FUNCTION take_name(its_name text, its_owner text, its_note text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_presence();
  INSERT INTO instance AS held (name, owner, started_at, seen_at, note)
    VALUES (its_name, its_owner, now_ms(), now_ms(), its_note)
  ON CONFLICT (name) DO UPDATE
    SET owner = excluded.owner, seen_at = excluded.seen_at, note = excluded.note,
      started_at = CASE WHEN held.owner = excluded.owner THEN held.started_at ELSE excluded.started_at END
    WHERE held.owner IN ('', excluded.owner) OR abs(now_ms() - held.seen_at) >= 6000 /* LEASE_MS */;
  RETURN FOUND;
END $$;
