import type { Clock, Timer } from '../../../clock.ts'
import { parseDeviceKey, remembersCursor } from '../../../messages/station.ts'
import type { Cursors } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Answer, DeviceReading, Reader } from './reader.ts'

// What a crash takes back: a phone then gets an older stamp than it has, which is as safe, and which it does not store.
const WRITE_AFTER_MS = 10_000
const STATEMENT_ROWS = 1000

// Sorted, as whoever else locks several of these rows does.
const WRITE = `
  UPDATE device SET asked = cursor
  FROM unnest($1::text[], $2::bigint[]) AS brought (key, cursor)
    JOIN (SELECT key FROM device WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE) AS locked USING (key)
  WHERE device.key = brought.key AND asked < cursor`

interface CursorsParts {
  readonly database: Queries
  readonly reader: Reader
  readonly clock: Clock
}

/** The cursors as the rest of the store takes them. */
export interface SharedCursors extends Cursors {
  /** {@link Cursors.stampFor} of who brings `since` and gets no messages. */
  timeIn(reading: Answer, since: number | undefined): number
  /** Writes down what is not written yet. */
  seal(): Promise<void>
}

/**
 * Which cursor each device has brought, by the rules of the store in a file: in the table, and here what is not written
 * yet, by its key.
 */
export function openCursors({ database, reader, clock }: CursorsParts): SharedCursors {
  const unwritten = new Map<string, number>()
  let writing: Timer | undefined
  let sealed = false

  function bring(key: string, cursor: number): void {
    unwritten.set(key, Math.max(unwritten.get(key) ?? 0, cursor))
    planWrite()
  }

  function planWrite(): void {
    if (!sealed) writing ??= clock.after(WRITE_AFTER_MS, () => void write().catch(planWrite))
  }

  async function write(): Promise<void> {
    writing = undefined
    const rows = [...unwritten]
    for (let start = 0; start < rows.length; start += STATEMENT_ROWS) {
      const slice = rows.slice(start, start + STATEMENT_ROWS)
      await database.query(WRITE, [slice.map(([key]) => key), slice.map(([, cursor]) => cursor)])
      for (const [key, cursor] of slice) if (unwritten.get(key) === cursor) unwritten.delete(key)
    }
    if (unwritten.size > 0) planWrite()
  }

  function timeIn({ last, station }: Answer, since: number | undefined): number {
    if (!station) return last
    const brought = since !== undefined && since <= last ? Math.floor(since) : undefined
    const cursor = Math.min(...station.devices.map((device) => cursorOf(device, brought)))
    return station.newest > cursor ? cursor : last
  }

  function cursorOf({ key, registeredAt, asked }: DeviceReading, brought: number | undefined): number {
    const [, id] = parseDeviceKey(key)
    if (!remembersCursor(id)) return Math.max(registeredAt, brought ?? 0)
    if (brought !== undefined && brought > asked) bring(key, brought)
    // That of an earlier registration is older than the stamp of the present one.
    return Math.max(registeredAt, brought ?? Math.max(asked, unwritten.get(key) ?? 0))
  }

  return {
    timeIn,

    async stampFor(station, device, since, lastMessage) {
      const reading = await reader.read(station, device, Number.POSITIVE_INFINITY)
      return lastMessage ?? timeIn(reading, since)
    },

    async seal() {
      sealed = true
      writing?.cancel()
      await write()
    },
  }
}
