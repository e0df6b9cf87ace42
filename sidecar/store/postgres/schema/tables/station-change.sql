-- Stations that changed, by the stamp of the change. Instances read these stations again. Rows are kept for a day.
CREATE TABLE station_change (version bigint PRIMARY KEY, key text COLLATE "C" NOT NULL);
