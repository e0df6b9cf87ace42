import type { StationKey, StoredMessage } from '../../../messages/store.ts'

/**
 * Answers several syncs at once: what each station has that is newer than its cursor, and `last`, of the same snapshot:
 * newer than all of that and older than whatever is stored later; and what the cursor of the device of that key goes
 * by, or those of all of the station's where there is none (`keys` is null where none is found). Messages are packed
 * into one value a station (the layout is that of {@link unpackMessages}): a row for each, with a value for each of its
 * members, takes three times as long to decode. One plan for all: by itself PostgreSQL plans anew for each array, which
 * took as long as to answer 15 syncs.
 */
export const READ_NEWER = `
CREATE OR REPLACE FUNCTION read_newer(stations text[], devices text[], sinces float8[])
RETURNS TABLE (
  i bigint, "last" bigint, station_registered_at bigint, keys text[], registered_at bigint[], asked bigint[], newest bigint, messages bytea)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT one.i, clock.last, station.registered_at, asking.*, held.newest, held.messages
    FROM unnest(stations, devices, sinces) WITH ORDINALITY AS one (station, device, since, i)
      CROSS JOIN clock
      LEFT JOIN station ON station.key = one.station
      LEFT JOIN LATERAL (
        SELECT array_agg(key), array_agg(device.registered_at), array_agg(device.asked) FROM device
        WHERE device.station = one.station AND (one.device IS NULL OR key = one.device)) AS asking ON true
      LEFT JOIN LATERAL (
        SELECT max(ring.time) AS newest,
          string_agg(
            int8send(ring.time)
              || int2send(length(source)::int2) || int2send(length(seq_id)::int2) || int4send(length(ring.text))
              || source || seq_id || ring.text, '' ORDER BY ring.time)
            FILTER (WHERE ring.time > one.since AND ring.time > 0) AS messages
        FROM ring WHERE ring.station = one.station) AS held ON true;
END $$`

const HEAD_BYTES = 16

/**
 * Messages out of one value, as `read_newer` packs them: of each the time in 8 bytes, the lengths of source, number and
 * text in 2, 2 and 4, and then those. Texts are parts of `packed`, which stays in memory with them.
 */
export function unpackMessages(to: StationKey, packed: Buffer): readonly StoredMessage[] {
  const messages: StoredMessage[] = []
  let at = 0
  while (at < packed.length) {
    const time = packed.readUInt32BE(at) * 2 ** 32 + packed.readUInt32BE(at + 4)
    const source = at + HEAD_BYTES
    const seqId = source + packed.readUInt16BE(at + 8)
    const text = seqId + packed.readUInt16BE(at + 10)
    const end = text + packed.readUInt32BE(at + 12)
    messages.push({
      from: packed.toString('utf8', source, seqId),
      to,
      seqId: packed.toString('utf8', seqId, text),
      text: packed.subarray(text, end),
      stamp: time,
    })
    at = end
  }
  return messages
}
