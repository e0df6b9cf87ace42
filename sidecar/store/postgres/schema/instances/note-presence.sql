-- Starts a new period of presence if no instance ran for 2 hours, or if the clock was set back. During such a gap,
-- phones may have tried in vain to reach an instance. So a phone's silence before the period is no reason to expire it.
CREATE OR REPLACE FUNCTION note_presence() RETURNS void LANGUAGE sql AS $$
  UPDATE clock SET present_since = now_ms()
  WHERE present_since > now_ms()
    OR NOT EXISTS (SELECT FROM instance WHERE abs(now_ms() - seen_at) < 7200000)
$$;
