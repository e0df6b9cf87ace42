import type { Clock, Timer } from '../../../clock.ts'
import { parseDeviceKey, remembersCursor } from '../../../messages/station.ts'
import type { Cursors } from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import type { Queries } from '../database/connection.ts'
import type { Answer, DeviceReading, Reader } from './reader.ts'

// Delay of cursor writes. After a crash, a phone may get a stamp older than its cursor, which it ignores.
const WRITE_AFTER_MS = 10_000
const STATEMENT_ROWS = 1000

const WRITE = readSql(new URL('./write-cursors.sql', import.meta.url))

interface CursorsParts {
  readonly database: Queries
  readonly reader: Reader
  readonly clock: Clock
}

/** The interface of the device cursors for other modules of the store. */
export interface SharedCursors extends Cursors {
  /**
   * Returns the stamp of an answer without messages, as {@link Cursors.stampFor} does. `since`: the cursor of the
   * request.
   */
  timeIn(reading: Answer, since: number | undefined): number
  /** Writes the cursors that are not in the table yet. */
  seal(): Promise<void>
}

/** Opens the newest cursors of all devices, with the rules of the SQLite store. Unwritten ones are in memory. */
export function openCursors({ database, reader, clock }: CursorsParts): SharedCursors {
  /** Cursors that are not written to the database yet, by {@link deviceKey}. */
  const unwritten = new Map<string, number>()
  let writing: Timer | undefined
  let sealed = false

  function note(key: string, cursor: number): void {
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
    const sent = since !== undefined && since <= last ? Math.floor(since) : undefined
    const cursor = Math.min(...station.devices.map((device) => cursorOf(device, sent)))
    return station.newest > cursor ? cursor : last
  }

  function cursorOf({ key, registeredAt, newestCursor }: DeviceReading, sent: number | undefined): number {
    const [, id] = parseDeviceKey(key)
    if (!remembersCursor(id)) return Math.max(registeredAt, sent ?? 0)
    if (sent !== undefined && sent > newestCursor) note(key, sent)
    // If `registeredAt` is newer than the cursor, the cursor is from an earlier registration.
    return Math.max(registeredAt, sent ?? Math.max(newestCursor, unwritten.get(key) ?? 0))
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
