import type { StationKey, StoredMessage } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { unpackMessages } from '../schema/read-functions.ts'

// More in one statement are hardly faster, and the first of them waits for the last.
const STATEMENT_READS = 64
const STATEMENTS = 3
const WAITING_READS = 10_000

const READ = `
  SELECT last, registered_at AS "registeredAt", asked, newest, messages
  FROM read_since($1, $2) ORDER BY i`

interface Ask {
  readonly station: StationKey
  readonly since: number
}

interface Row {
  readonly last: number
  readonly registeredAt: number | null
  readonly asked: number
  readonly newest: number | null
  readonly messages: Buffer | null
}

/** What the database has of a station, all of one moment. */
export interface Reading {
  readonly registeredAt: number
  /** The newest cursor that its phone has brought, as it was written last. */
  readonly asked: number
  /** Time of its newest message, 0 before the first. */
  readonly newest: number
  /** Those that are newer than what was asked for, oldest first. */
  readonly messages: readonly StoredMessage[]
}

/** `last`: newer than whatever was stored by then, and older than whatever is stored later. */
export interface Answer {
  readonly last: number
  readonly station: Reading | undefined
}

/** Reads through: whatever any instance has stored before the call is in the answer. */
export interface Reader {
  read(station: StationKey, since: number): Promise<Answer>
}

/** Has those that come at once, or while statements are under way, share one. */
export function openReader(database: Queries): Reader {
  const batches = openBatches<Ask, Row | undefined>({
    async run(asks) {
      const stations = asks.map(({ station }) => station)
      const sinces = asks.map(({ since }) => since)
      return database.query<Row>(READ, [stations, sinces])
    },
    most: STATEMENT_READS,
    parallel: STATEMENTS,
    mostWaiting: WAITING_READS,
  })
  return {
    async read(station, since) {
      const row = await batches.add({ station, since })
      if (!row) return { last: 0, station: undefined }
      const { last, registeredAt, asked, newest, messages } = row
      if (registeredAt === null) return { last, station: undefined }
      const unpacked = messages ? unpackMessages(station, messages) : []
      return { last, station: { registeredAt, asked, newest: newest ?? 0, messages: unpacked } }
    },
  }
}
