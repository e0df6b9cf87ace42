-- Whether a device does not get messages of the sender: the list `blocked`, separated by blanks, has its callsign, or a
-- beginning of it with a `*`.
CREATE OR REPLACE FUNCTION is_blocked(blocked text, sender bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT EXISTS (
    SELECT FROM unnest(string_to_array(blocked, ' ')) AS entry
    WHERE CASE WHEN right(entry, 1) = '*'
      THEN substr(sender, 1, length(entry) - 1) = convert_to(left(entry, -1), 'UTF8')
      ELSE sender = convert_to(entry, 'UTF8') END)
$$;
