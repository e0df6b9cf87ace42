-- Stations that changed, by the stamp of the change. Instances read them again. Kept for a day.
CREATE TABLE station_change (version bigint PRIMARY KEY, key text COLLATE "C" NOT NULL);
