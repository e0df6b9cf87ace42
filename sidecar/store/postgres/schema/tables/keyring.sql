-- Secrets that all instances share, such as the VAPID keys of Web Push.
CREATE TABLE keyring (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
