import type { Clock, Timer } from '../../../clock.ts'
import { deviceKey, deviceOf, MAX_DEVICES, parseDeviceKey, remembersCursor } from '../../../messages/station.ts'
import type { Cursors, Device, DeviceId, StationKey, Stations } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'

// What a crash takes back: a phone then gets an older stamp than it has, which is as safe, and which it does not store.
const WRITE_AFTER_MS = 10_000

const LOAD = "SELECT station, id, asked FROM device WHERE asked > 0 AND id <> ''"

const WRITE = `
  UPDATE device SET asked = row.value ->> 2 FROM json_each(?) AS row
  WHERE device.station = row.value ->> 0 AND device.id = row.value ->> 1`

interface CursorsParts {
  readonly database: Database
  readonly stations: Pick<Stations, 'get' | 'size'>
  readonly rings: Pick<RingIndex, 'newest'>
  readonly stamps: Pick<StampSequence, 'newest' | 'issue'>
  readonly clock: Clock
}

/** The cursors as the rest of the store takes them. */
export interface StoredCursors extends Cursors {
  /** Writes down what is not written yet. */
  seal(tx: Transaction): Promise<void>
}

/** Which cursor each device has brought. Read into memory once; written behind, since being late costs nothing. */
export async function openCursors(
  queries: Queries,
  { database, stations, rings, stamps, clock }: CursorsParts,
): Promise<StoredCursors> {
  const newest = new Map<string, number>()
  const unwritten = new Set<string>()
  let writing: Timer | undefined
  for (const { station, id, asked } of await queries.all<{ station: StationKey; id: DeviceId; asked: number }>(LOAD))
    newest.set(deviceKey(station, id), asked)

  /** That of an earlier registration is older than the stamp of the present one. */
  const cursorOf = (key: StationKey, { id, registeredAt }: Device, brought = newest.get(deviceKey(key, id))) =>
    Math.max(registeredAt, brought ?? 0)

  function bring(key: StationKey, device: Device, cursor: number): void {
    if (!remembersCursor(device.id)) return
    const before = cursorOf(key, device)
    if (cursor <= before) return
    const name = deviceKey(key, device.id)
    newest.set(name, cursor)
    if (newest.size > MAX_DEVICES * stations.size) forgetOthers()
    // Where nothing was stored in between, the older one says as much.
    if (rings.newest(key) > before) changed(name)
  }

  function forgetOthers(): void {
    for (const name of newest.keys()) {
      const [key, id] = parseDeviceKey(name)
      if (!deviceOf(stations.get(key), id)) newest.delete(name)
    }
  }

  function changed(name: string): void {
    unwritten.add(name)
    writing ??= clock.after(WRITE_AFTER_MS, () => {
      writing = undefined
      const names = [...unwritten]
      unwritten.clear()
      database.write(write, names).catch(() => {
        for (const late of names) unwritten.add(late)
      })
    })
  }

  const write: Write<readonly string[], void> = {
    async run(tx, inputs) {
      const rows = inputs.flat().map((name) => [...parseDeviceKey(name), newest.get(name) ?? 0])
      await tx.last(WRITE, JSON.stringify(rows))
      return inputs.map(() => undefined)
    },
  }

  return {
    async stampFor(station, deviceId, since, lastMessage) {
      const { devices = [] } = stations.get(station) ?? {}
      const brought = since !== undefined && since <= stamps.newest ? Math.floor(since) : undefined
      const callers = deviceId === undefined ? devices : devices.filter(({ id }) => id === deviceId)
      if (brought !== undefined) for (const device of callers) bring(station, device, brought)
      if (lastMessage !== undefined) return lastMessage
      const cursor = callers.length > 0 ? Math.min(...callers.map((device) => cursorOf(station, device, brought))) : 0
      // The index has the messages of the transaction in progress since their stamps were taken: what is not in it gets
      // newer ones.
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
