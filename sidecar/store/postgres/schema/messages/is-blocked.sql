-- Returns whether a device blocks a sender. The entries of `blocked` are separated by blanks. Each is a callsign, or
-- the beginning of one with a `*` at the end.
CREATE OR REPLACE FUNCTION is_blocked(blocked text, sender bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT EXISTS (
    SELECT FROM unnest(string_to_array(blocked, ' ')) AS entry
    WHERE CASE WHEN right(entry, 1) = '*'
      THEN substr(sender, 1, length(entry) - 1) = convert_to(left(entry, -1), 'UTF8')
      ELSE sender = convert_to(entry, 'UTF8') END)
$$;
