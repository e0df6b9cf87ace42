import { deviceKey } from '../../../messages/station.ts'
import type { DeviceId, StationKey, StoredMessage } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { unpackMessages } from './unpack-messages.ts'

// While the database reads for some, those before are answered. More in one statement are hardly faster, and the first
// of them waits for the last; of more statements each has fewer, and costs as much as several reads.
const STATEMENT_READS = 32
const STATEMENTS = 2
const WAITING_READS = 10_000

const READ = `
  SELECT last, station_registered_at AS "registeredAt", keys, registered_at AS "since", asked, newest, messages
  FROM read_newer($1, $2, $3) ORDER BY i`

interface Ask {
  readonly station: StationKey
  /** Its key; null for all of the station's. */
  readonly device: string | null
  readonly since: number
}

interface Row {
  readonly last: number
  readonly registeredAt: number | null
  readonly keys: readonly string[] | null
  /** When each device was registered. */
  readonly since: readonly number[]
  readonly asked: readonly number[]
  readonly newest: number | null
  readonly messages: Buffer | null
}

/** What the cursor of a device goes by. */
export interface DeviceReading {
  readonly key: string
  readonly registeredAt: number
  /** The newest cursor that it has brought, as it was written last. */
  readonly asked: number
}

/** What the database has of a station, all of one moment. */
export interface Reading {
  readonly registeredAt: number
  /** The one that asks, or all of them; at least one. */
  readonly devices: readonly DeviceReading[]
  /** Time of its newest message, 0 before the first. */
  readonly newest: number
  /** Those that are newer than what was asked for, oldest first. */
  readonly messages: readonly StoredMessage[]
}

/** `station`: undefined where it is not registered, or has no such device. */
export interface Answer {
  /** Newer than whatever was stored by then, and older than whatever is stored later. */
  readonly last: number
  readonly station: Reading | undefined
  /** Another one once the database may have lost what it had: see {@link openReader}. */
  readonly lineage: string
}

/** Reads through: whatever any instance has stored before the call is in the answer. */
export interface Reader {
  read(station: StationKey, device: DeviceId | undefined, since: number): Promise<Answer>
}

/** A row, with the lineage of its statement. */
interface Read {
  readonly row: Row
  readonly lineage: string
}

/**
 * Has reads that come at once, or while statements are under way, share one.
 *
 * The lineage of an answer is the database's timeline, and how often its clock was found to have gone back: a standby
 * that took over may lack messages, and so may a database that was restored.
 */
export function openReader(database: Queries, timeline: () => number = () => 0): Reader {
  /** The newest `last` of a statement that has ended: one that begins later reads no older one. */
  let newest = 0
  let timesBack = 0

  async function run(asks: readonly Ask[]): Promise<readonly Read[]> {
    const newestBefore = newest
    const stations = asks.map(({ station }) => station)
    const devices = asks.map(({ device }) => device)
    const sinces = asks.map(({ since }) => since)
    const rows = await database.query<Row>(READ, [stations, devices, sinces])
    const last = rows[0]?.last ?? newestBefore
    if (last < newestBefore) timesBack += 1
    newest = last < newestBefore ? last : Math.max(newest, last)
    const lineage = `${timeline()}/${timesBack}`
    return rows.map((row) => ({ row, lineage }))
  }

  const batches = openBatches<Ask, Read>({
    run,
    most: STATEMENT_READS,
    parallel: STATEMENTS,
    mostWaiting: WAITING_READS,
  })
  return {
    async read(station, id, since) {
      const device = id === undefined ? null : deviceKey(station, id)
      const { row, lineage } = await batches.add({ station, device, since })
      const { last, registeredAt, keys, asked, messages } = row
      const devices = keys?.map((key, at) => ({ key, registeredAt: row.since[at] ?? 0, asked: asked[at] ?? 0 }))
      if (!devices || registeredAt === null) return { last, station: undefined, lineage }
      const unpacked = messages ? unpackMessages(station, messages) : []
      return { last, station: { registeredAt, devices, newest: row.newest ?? 0, messages: unpacked }, lineage }
    },
  }
}
