import type { History, StationKey, StoredMessage } from '../messages/store.ts'
import type { Queries } from './connection.ts'
import type { Database } from './database.ts'
import type { Stamps } from './server-time.ts'
import { StoreError, toStoreError } from './store-error.ts'

// Everybody waits for a read, those who write too: 1600 rows take 3 ms. One trip to libuv's pool for each ring took three times as
// long for all of them, when many asked at a time.
const READ_ROWS = 1600
const WAITING_ASKS = 10_000

// How often it is tried again when the stamps were taken by others between reserving and reading.
const ATTEMPTS = 5

// Of a ring one string instead of a row object for each message: twice as fast. Sorted later, since it nearly always is already.
const RINGS = `
  SELECT (
    SELECT json_group_array(json_array(time, source, seq_id, hex(text))) FROM message
    WHERE station = ask.value ->> 0 AND time > ask.value ->> 1
  ) AS messages
  FROM json_each(?) AS ask ORDER BY ask.key`

type Found = Awaited<ReturnType<History['since']>>

interface Ask {
  readonly station: StationKey
  readonly since: number
  resolve(found: Found): void
  reject(error: unknown): void
}

interface RingReaderParts {
  readonly database: Database
  readonly stamps: Stamps
  readonly perStation: number
}

/** {@link History.since}: reads what is asked for while another read is under way in one go, as writes are committed in groups. */
export function createRingReader({ database, stamps, perStation }: RingReaderParts): History['since'] {
  const ringsPerRead = Math.max(1, Math.floor(READ_ROWS / perStation))
  const waiting: Ask[] = []
  let working = false

  async function work(): Promise<void> {
    let attempts = 0
    while (waiting.length > 0) {
      try {
        await stamps.ready()
        const count = await database.read(readSome)
        attempts = count > 0 ? 0 : attempts + 1
        if (attempts === ATTEMPTS) throw new StoreError('store_overloaded')
      } catch (error) {
        for (const { reject } of waiting.splice(0)) reject(error)
      }
    }
    // In the same breath as the last look at what waits: whoever comes now starts the next round.
    working = false
  }

  /** Runs while no transaction is in progress: whatever has an older stamp is committed, and the query sees it. */
  async function readSome(queries: Queries): Promise<number> {
    const taken: (Ask & { readonly serverTime: number })[] = []
    for (const ask of waiting.slice(0, ringsPerRead)) {
      const serverTime = stamps.tryCursor()
      if (serverTime === undefined) break
      taken.push({ ...ask, serverTime })
    }
    waiting.splice(0, taken.length)
    if (taken.length === 0) return 0
    try {
      const asks = taken.map(({ station, since }) => [station, since])
      const rings = await queries.all<{ messages: string }>(RINGS, JSON.stringify(asks))
      for (const [index, { station, serverTime, resolve }] of taken.entries())
        resolve({ messages: parseMessages(station, rings[index]?.messages ?? '[]'), serverTime })
    } catch (error) {
      for (const { reject } of taken) reject(toStoreError(error))
    }
    return taken.length
  }

  return async (station, since) => {
    database.assertOpen()
    if (waiting.length >= WAITING_ASKS) throw new StoreError('store_overloaded')
    return new Promise<Found>((resolve, reject) => {
      waiting.push({ station, since, resolve, reject })
      if (working) return
      working = true
      void work()
    })
  }
}

function parseMessages(station: StationKey, json: string): readonly StoredMessage[] {
  const rows = JSON.parse(json) as readonly (readonly [time: number, source: string, seqId: string, hex: string])[]
  return rows
    .map(([time, from, seqId, hex]) => ({ from, to: station, seqId, text: Buffer.from(hex, 'hex'), time }))
    .sort((one, other) => one.time - other.time)
}
