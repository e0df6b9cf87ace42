-- Marks stations as proven. Locks them in the order of keys, because several instances may prove the same ones at once.
CREATE OR REPLACE FUNCTION prove_stations(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE station SET proven = true
    WHERE key = ANY (ARRAY(SELECT key FROM station WHERE key = ANY (keys) AND NOT proven ORDER BY key FOR UPDATE));
END $$;
