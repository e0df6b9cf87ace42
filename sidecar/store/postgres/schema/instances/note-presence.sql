-- Starts a new period of presence after a gap in which some phone may have called in vain, or after a leap of the
-- clock. Silence of a phone before that period counts for nothing. A gap is 2 hours.
CREATE OR REPLACE FUNCTION note_presence() RETURNS void LANGUAGE sql AS $$
  UPDATE clock SET present_since = now_ms()
  WHERE present_since > now_ms()
    OR NOT EXISTS (SELECT FROM instance WHERE abs(now_ms() - seen_at) < 7200000)
$$;
