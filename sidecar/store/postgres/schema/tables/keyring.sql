-- Secrets that all instances share.
CREATE TABLE keyring (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
