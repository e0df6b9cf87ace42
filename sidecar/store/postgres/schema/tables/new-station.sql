-- Stations and devices that each client added within the last hour, for the rate limit.
CREATE TABLE new_station (client text COLLATE "C" NOT NULL, at bigint NOT NULL);
CREATE INDEX new_station_client ON new_station (client, at);
