import type { Clock, Timer } from '../../../clock.ts'
import type { Cursors, StationKey, Stations } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { RingIndex } from './ring-index.ts'
import type { Stamps } from './server-time.ts'

// What a crash takes back: a phone then gets an older stamp than it has, which is as safe, and which it does not store.
const WRITE_AFTER_MS = 10_000

const LOAD = 'SELECT key, asked FROM station WHERE asked > 0'

const WRITE = `
  UPDATE station SET asked = row.value ->> 1 FROM json_each(?) AS row WHERE station.key = row.value ->> 0`

interface CursorsParts {
  readonly database: Database
  readonly stations: Pick<Stations, 'get' | 'size'>
  readonly rings: Pick<RingIndex, 'newest'>
  readonly stamps: Pick<Stamps, 'newest' | 'issue'>
  readonly clock: Clock
}

/** The cursors as the rest of the store takes them. */
export interface StoredCursors extends Cursors {
  /** Writes down what is not written yet. */
  seal(tx: Transaction): Promise<void>
}

/** Which cursor each station's phone has brought. Read into memory once; written behind, since being late costs nothing. */
export async function openCursors(
  queries: Queries,
  { database, stations, rings, stamps, clock }: CursorsParts,
): Promise<StoredCursors> {
  const newest = new Map<StationKey, number>()
  const unwritten = new Set<StationKey>()
  let writing: Timer | undefined
  for (const { key, asked } of await queries.all<{ key: StationKey; asked: number }>(LOAD)) newest.set(key, asked)

  /** That of an earlier registration is older than the stamp of the present one. */
  const cursorOf = (key: StationKey, brought = newest.get(key)) =>
    Math.max(stations.get(key)?.registeredAt ?? 0, brought ?? 0)

  function bring(key: StationKey, cursor: number): void {
    const before = cursorOf(key)
    if (cursor <= before || !stations.get(key)) return
    newest.set(key, cursor)
    if (newest.size > stations.size) forgetOthers()
    // Where nothing was stored in between, the older one says as much.
    if (rings.newest(key) > before) changed(key)
  }

  function forgetOthers(): void {
    for (const key of newest.keys()) if (!stations.get(key)) newest.delete(key)
  }

  function changed(key: StationKey): void {
    unwritten.add(key)
    writing ??= clock.after(WRITE_AFTER_MS, () => {
      writing = undefined
      const keys = [...unwritten]
      unwritten.clear()
      database.write(write, keys).catch(() => {
        for (const late of keys) unwritten.add(late)
      })
    })
  }

  const write: Write<readonly StationKey[], void> = {
    async run(tx, inputs) {
      const rows = inputs.flat().map((key) => [key, newest.get(key) ?? 0])
      await tx.last(WRITE, JSON.stringify(rows))
      return inputs.map(() => undefined)
    },
  }

  return {
    async timeOf(station, _device, since, lastMessage) {
      const brought = since !== undefined && since <= stamps.newest ? Math.floor(since) : undefined
      if (brought !== undefined) bring(station, brought)
      if (lastMessage !== undefined) return lastMessage
      const cursor = cursorOf(station, brought)
      // The index has the messages of the transaction in progress since their stamps were taken: what is not in it gets newer ones.
      const isBehind = () => rings.newest(station) > cursor
      if (isBehind()) return cursor
      // Without a new stamp, as while the disk refuses writes, the phone's own cursor is as safe.
      const stamp = await stamps.issue().catch(() => cursor)
      return isBehind() ? cursor : stamp
    },

    async seal(tx) {
      writing?.cancel()
      await write.run(tx, [[...unwritten]])
    },
  }
}
