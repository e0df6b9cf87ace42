-- Answers several syncs at once, each from the same snapshot. For each sync, it returns
-- - `messages`: the station's messages that are newer than the cursor.
-- - `last`: a stamp that none of these messages exceeds. Messages that are stored later have newer stamps.
-- - `keys`, `registered_at`, `cursors`: the device with the requested key, or all devices of the station if that key is
--   null. `keys` is null if there is no such device.
-- - `options`: JSON; null for a device without options.
-- - `other_ssids`: whether the ring has messages to other SSIDs of the station's callsign.
-- - `acks`: JSON of the received acks that are newer than the cursor.
-- - `newest_ack`: the stamp of the newest received ack. It and `acks` are null if none of the devices wants acks.
--
-- The messages of a station are packed into one value, which unpackMessages reads. Decoding one row per message takes
-- three times as long. All calls use one generic plan. By default PostgreSQL plans anew for each array, which took as
-- long as answering 15 syncs.
CREATE OR REPLACE FUNCTION read_newer(stations text[], devices text[], sinces float8[])
RETURNS TABLE (
  i bigint, "last" bigint, station_registered_at bigint, keys text[], registered_at bigint[],
  cursors bigint[], options text, newest bigint, newest_dropped bigint, messages bytea, other_ssids boolean,
  newest_ack bigint, acks text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT one.i, clock.last, station.registered_at, asking.keys, asking.registered_at, asking.cursors, asking.options,
      held.newest, held.newest_dropped, held.messages, held.other_ssids, answered.newest, answered.acks
    FROM unnest(stations, devices, sinces) WITH ORDINALITY AS one (station, device, since, i)
      CROSS JOIN clock
      LEFT JOIN station ON station.key = one.station
      LEFT JOIN LATERAL (
        SELECT array_agg(key) AS keys, array_agg(device.registered_at) AS registered_at,
          array_agg(device.newest_cursor) AS cursors, bool_or(want_acks) AS wants_acks,
          max(CASE WHEN any_ssid OR blocked <> '' OR want_acks THEN
            json_build_object(
              'anySsid', any_ssid, 'blocked', string_to_array(blocked, ' '), 'wantAcks', want_acks)::text
            END) AS options
        FROM device
        WHERE device.station = one.station AND (one.device IS NULL OR key = one.device)) AS asking ON true
      LEFT JOIN LATERAL (
        SELECT max(ring.time) AS newest, max(replaced) AS newest_dropped, bool_or(addressee <> '') AS other_ssids,
          string_agg(
            int8send(ring.time)
              || int2send(length(source)::int2) || int2send(length(seq_id)::int2) || int4send(length(ring.text))
              || int2send(length(addressee)::int2) || source || seq_id || ring.text || addressee, '' ORDER BY ring.time)
            FILTER (WHERE ring.time > one.since AND ring.time > 0) AS messages
        FROM ring WHERE ring.station = one.station) AS held ON true
      LEFT JOIN LATERAL (
        SELECT max(ack.time) AS newest,
          json_agg(
            json_build_object('from', source, 'to', ack.station, 'seqId', seq_id, 'kind', kind, 'stamp', ack.time)
            ORDER BY ack.time) FILTER (WHERE ack.time > one.since)::text AS acks
        FROM ack WHERE asking.wants_acks AND ack.station = one.station) AS answered ON true;
END $$;
