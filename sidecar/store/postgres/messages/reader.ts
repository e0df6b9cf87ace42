import type { StoredAck } from '../../../messages/acks/received-acks.ts'
import { type DeviceOptions, NO_OPTIONS } from '../../../messages/devices/device-options.ts'
import { deviceKey } from '../../../messages/station.ts'
import type { DeviceId, StationKey, StoredMessage } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { unpackMessages } from './unpack-messages.ts'

// Two statements, so that the database works on one while the reads of the other are answered. Larger ones delay their
// first read and are hardly faster. More would cost the same.
const STATEMENT_READS = 32
const STATEMENTS = 2
const WAITING_READS = 10_000

const READ = `
  SELECT last, station_registered_at AS "registeredAt", keys, registered_at AS "since", cursors,
    options, newest, newest_dropped AS "newestDropped", messages,
    other_ssids AS "hasOtherSsids",
    newest_ack AS "newestAck", acks
  FROM read_newer($1, $2, $3) ORDER BY i`

interface ReadRequest {
  readonly station: StationKey
  /** The key of the device; null for all devices of the station. */
  readonly device: string | null
  readonly since: number
}

interface Row {
  readonly last: number
  readonly registeredAt: number | null
  readonly keys: readonly string[] | null
  /** The stamp of each device's registration, in the order of `keys`. */
  readonly since: readonly number[]
  /** The newest cursor that each device sent, in the order of `keys`. */
  readonly cursors: readonly number[]
  /** JSON of {@link DeviceOptions}; null if the device has none. */
  readonly options: string | null
  readonly newest: number | null
  readonly newestDropped: number | null
  readonly messages: Buffer | null
  readonly hasOtherSsids: boolean | null
  readonly newestAck: number | null
  /** JSON of an array of {@link StoredAck}. */
  readonly acks: string | null
}

/** A device's registration and cursor, as read from the database. */
export interface DeviceReading {
  readonly key: string
  readonly registeredAt: number
  /** The newest cursor that the device sent, according to the database. */
  readonly newestCursor: number
}

/** A station as one statement read it from the database. */
export interface Reading {
  readonly registeredAt: number
  /** The device of the request, or all devices of the station; never empty. */
  readonly devices: readonly DeviceReading[]
  /** The options of the requesting device. */
  readonly options: DeviceOptions
  /**
   * Stamp of the newest message of the station; 0 if there is none. If a device of the request wants acks, the stamp of
   * the newest message or ack.
   */
  readonly newest: number
  /** Stamp of the newest message that the ring has dropped; 0 if there is none. */
  readonly newestDropped: number
  /** Acks newer than the cursor of the request, oldest first; undefined unless the device wants acks. */
  readonly acks: readonly StoredAck[] | undefined
  /** Whether the ring has messages to other SSIDs of the station's callsign. */
  readonly hasOtherSsids: boolean
  /** Messages newer than the cursor of the request, oldest first. */
  readonly messages: readonly StoredMessage[]
}

/**
 * The answer to a read of a station's messages. `station` is undefined if the station is not registered or has no such
 * device.
 */
export interface Answer {
  /**
   * The newest stamp of the database. Messages stored before the read have at most this stamp; later messages have a
   * higher one.
   */
  readonly last: number
  readonly station: Reading | undefined
  /** A string that changes when the database may have lost messages; see {@link openReader}. */
  readonly lineage: string
}

/** Reads from the database. The answer includes every message that any instance stored before the call. */
export interface Reader {
  read(station: StationKey, device: DeviceId | undefined, since: number): Promise<Answer>
}

/** A row of the result, with the lineage of the database when the statement read it. */
interface Read {
  readonly row: Row
  readonly lineage: string
}

/** Opens the reader of messages and acks. Reads that arrive together, or during statements, share a statement. */
export function openReader(database: Queries, timeline: () => number = () => 0): Reader {
  /**
   * The newest stamp that a finished statement returned as `last`. If a later statement returns an older stamp, the
   * database has lost data.
   */
  let newest = 0
  let timesBack = 0

  async function run(requests: readonly ReadRequest[]): Promise<readonly Read[]> {
    const newestBefore = newest
    const stations = requests.map(({ station }) => station)
    const devices = requests.map(({ device }) => device)
    const sinces = requests.map(({ since }) => since)
    const rows = await database.query<Row>(READ, [stations, devices, sinces])
    const last = rows[0]?.last ?? newestBefore
    if (last < newestBefore) timesBack += 1
    newest = last < newestBefore ? last : Math.max(newest, last)
    // A change means that a standby took over or the database was restored, so messages may be missing.
    const lineage = `${timeline()}/${timesBack}`
    return rows.map((row) => ({ row, lineage }))
  }

  const batches = openBatches<ReadRequest, Read>({
    run,
    most: STATEMENT_READS,
    parallel: STATEMENTS,
    mostWaiting: WAITING_READS,
  })
  return {
    async read(key, id, since) {
      const device = id === undefined ? null : deviceKey(key, id)
      const { row, lineage } = await batches.add({ station: key, device, since })
      const { last, registeredAt, keys, cursors, messages } = row
      const devices = keys?.map((key, index) => ({
        key,
        registeredAt: row.since[index] ?? 0,
        newestCursor: cursors[index] ?? 0,
      }))
      if (!devices || registeredAt === null) return { last, station: undefined, lineage }
      const unpacked = messages ? unpackMessages(key, messages) : []
      const newest = Math.max(row.newest ?? 0, row.newestAck ?? 0)
      const newestDropped = row.newestDropped ?? 0
      const hasOtherSsids = row.hasOtherSsids ?? false
      const options: DeviceOptions = row.options === null ? NO_OPTIONS : JSON.parse(row.options)
      const acks: Reading['acks'] = options.wantAcks ? JSON.parse(row.acks ?? '[]') : undefined
      const station = { registeredAt, devices, options, newest, newestDropped, hasOtherSsids, acks, messages: unpacked }
      return { last, station, lineage }
    },
  }
}
