import { deviceKey } from '../../../messages/station.ts'
import type { DeviceId, StationKey, StoredMessage } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { unpackMessages } from './unpack-messages.ts'

// While one statement is in progress, the reads of the one before are answered. Larger statements are hardly faster,
// and their first read waits for the last. With more statements at a time each has fewer reads, and costs as much as
// several.
const STATEMENT_READS = 32
const STATEMENTS = 2
const WAITING_READS = 10_000

const READ = `
  SELECT last, station_registered_at AS "registeredAt", keys, registered_at AS "since", cursors, newest, messages
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
  /** When each device was registered. */
  readonly since: readonly number[]
  /** The newest cursor that each device sent. */
  readonly cursors: readonly number[]
  readonly newest: number | null
  readonly messages: Buffer | null
}

/** The registration and cursor of a device. */
export interface DeviceReading {
  readonly key: string
  readonly registeredAt: number
  /** The newest cursor that the device sent, as the table has it. */
  readonly newestCursor: number
}

/** A station in the database, at one moment. */
export interface Reading {
  readonly registeredAt: number
  /** The device of the request, or all devices; at least one. */
  readonly devices: readonly DeviceReading[]
  /** Stamp of its newest message; 0 before the first. */
  readonly newest: number
  /** Messages newer than the cursor of the request, oldest first. */
  readonly messages: readonly StoredMessage[]
}

/** The answer to a read. `station` is undefined if it is not registered, or has no such device. */
export interface Answer {
  /** Newer than all messages stored before the read, and older than all stored after it. */
  readonly last: number
  readonly station: Reading | undefined
  /** Changes when the database may have lost messages: see {@link openReader}. */
  readonly lineage: string
}

/** Reads from the database: everything that any instance stored before the call is in the answer. */
export interface Reader {
  read(station: StationKey, device: DeviceId | undefined, since: number): Promise<Answer>
}

/** A row, with the lineage of its statement. */
interface Read {
  readonly row: Row
  readonly lineage: string
}

/**
 * Opens the reader. Reads that come at once, or while statements are in progress, share a statement.
 *
 * The lineage of an answer consists of the timeline of the database and the number of times that its clock went back. A
 * standby that took over may lack messages, and so may a restored database.
 */
export function openReader(database: Queries, timeline: () => number = () => 0): Reader {
  /** The newest `last` of a statement that has ended. A statement that begins later reads no older one. */
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
    async read(station, id, since) {
      const device = id === undefined ? null : deviceKey(station, id)
      const { row, lineage } = await batches.add({ station, device, since })
      const { last, registeredAt, keys, cursors, messages } = row
      const devices = keys?.map((key, index) => ({
        key,
        registeredAt: row.since[index] ?? 0,
        newestCursor: cursors[index] ?? 0,
      }))
      if (!devices || registeredAt === null) return { last, station: undefined, lineage }
      const unpacked = messages ? unpackMessages(station, messages) : []
      return { last, station: { registeredAt, devices, newest: row.newest ?? 0, messages: unpacked }, lineage }
    },
  }
}
