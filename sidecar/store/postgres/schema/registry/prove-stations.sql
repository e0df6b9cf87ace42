-- Marks stations as proven. Locks them in one order, because requests at several instances may prove the same ones.
CREATE OR REPLACE FUNCTION prove_stations(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE station SET proven = true
    WHERE key = ANY (ARRAY(SELECT key FROM station WHERE key = ANY (keys) AND NOT proven ORDER BY key FOR UPDATE));
END $$;
