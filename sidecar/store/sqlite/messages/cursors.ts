import type { Clock, Timer } from '../../../clock.ts'
import { deviceKey, deviceOf, MAX_DEVICES, parseDeviceKey, remembersCursor } from '../../../messages/station.ts'
import type { Cursors, Device, DeviceId, StationKey, Stations } from '../../../messages/store.ts'
import type { AckTable } from '../acks/received-acks.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'

// Delay of cursor writes. After a crash, a phone may get a stamp older than its cursor, which it ignores.
const WRITE_AFTER_MS = 10_000

const LOAD = `
  SELECT station, id, newest_cursor AS newestCursor FROM device WHERE newest_cursor > 0 AND id <> ''`

const WRITE = `
  UPDATE device SET newest_cursor = row.value ->> 2 FROM json_each(?) AS row
  WHERE device.station = row.value ->> 0 AND device.id = row.value ->> 1`

interface CursorsParts {
  readonly database: Database
  readonly stations: Pick<Stations, 'get' | 'size'>
  readonly rings: Pick<RingIndex, 'newest'>
  readonly acks: Pick<AckTable, 'newest'>
  readonly stamps: Pick<StampSequence, 'newest' | 'issue'>
  readonly clock: Clock
}

/** The interface of the device cursors for other modules of the store. */
export interface StoredCursors extends Cursors {
  /** Writes the cursors that are not in the file yet. */
  seal(tx: Transaction): Promise<void>
}

/** Reads the cursors into memory and opens them. */
export async function openCursors(queries: Queries, parts: CursorsParts): Promise<StoredCursors> {
  const rows = await queries.all<{ station: StationKey; id: DeviceId; newestCursor: number }>(LOAD)
  return new SqliteCursors(
    new Map(rows.map(({ station, id, newestCursor }) => [deviceKey(station, id), newestCursor])),
    parts,
  )
}

/**
 * The newest cursor of each device, in memory. A cursor that moved past a message is written {@link WRITE_AFTER_MS}
 * later, with others. If the write fails, it is written with the next ones.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class SqliteCursors implements StoredCursors {
  readonly #parts: CursorsParts
  /** The newest cursor of each device, by {@link deviceKey}. */
  readonly #newest: Map<string, number>
  readonly #unwritten = new Set<string>()
  #writing: Timer | undefined

  constructor(newest: Map<string, number>, parts: CursorsParts) {
    this.#newest = newest
    this.#parts = parts
  }

  readonly stampFor: Cursors['stampFor'] = async (station, deviceId, since, lastMessage) => {
    const { stations, stamps } = this.#parts
    const { devices = [] } = stations.get(station) ?? {}
    const sent = since !== undefined && since <= stamps.newest ? Math.floor(since) : undefined
    const callers = deviceId === undefined ? devices : devices.filter(({ id }) => id === deviceId)
    if (sent !== undefined) for (const device of callers) this.#note(station, device, sent)
    if (lastMessage !== undefined) return lastMessage
    const cursors = callers.map((device) => this.#cursorOf(station, device, sent))
    const cursor = callers.length > 0 ? Math.min(...cursors) : 0
    // A message of the transaction in progress is in the ring index once it has a stamp. Later ones get a stamp above
    // this one.
    const isBehind = () => this.#newestFor(station, callers) > cursor
    if (isBehind()) return cursor
    // If no stamp can be issued, for example because the disk refuses writes, the answer repeats the phone's own
    // cursor.
    const stamp = await stamps.issue().catch(() => cursor)
    return isBehind() ? cursor : stamp
  }

  readonly seal = async (tx: Transaction): Promise<void> => {
    this.#writing?.cancel()
    await this.#write.run(tx, [[...this.#unwritten]])
  }

  /**
   * Returns the cursor of a device. If `registeredAt` is newer, returns that instead, because the cursor is from an
   * earlier registration.
   */
  #cursorOf(key: StationKey, { id, registeredAt }: Device, sent = this.#newest.get(deviceKey(key, id))): number {
    return Math.max(registeredAt, sent ?? 0)
  }

  /** Returns the stamp of the station's newest message, or of its newest ack if one of `devices` wants acks. */
  #newestFor(key: StationKey, devices: readonly Device[]): number {
    const { rings, acks } = this.#parts
    return Math.max(rings.newest(key), devices.some(({ options }) => options.wantAcks) ? acks.newest(key) : 0)
  }

  /** Records the cursor that a device sent. */
  #note(key: StationKey, device: Device, cursor: number): void {
    if (!remembersCursor(device.id)) return
    const { stations } = this.#parts
    const former = this.#cursorOf(key, device)
    if (cursor <= former) return
    const name = deviceKey(key, device.id)
    this.#newest.set(name, cursor)
    if (this.#newest.size > MAX_DEVICES * stations.size) this.#forgetRemovedDevices()
    // If no message was stored between the former cursor and the new one, both cursors select the same messages. Then
    // the file keeps the former one.
    if (this.#newestFor(key, [device]) > former) this.#planWrite(name)
  }

  #forgetRemovedDevices(): void {
    for (const name of this.#newest.keys()) {
      const [key, id] = parseDeviceKey(name)
      if (!deviceOf(this.#parts.stations.get(key), id)) this.#newest.delete(name)
    }
  }

  #planWrite(name: string): void {
    const { database, clock } = this.#parts
    this.#unwritten.add(name)
    this.#writing ??= clock.after(WRITE_AFTER_MS, () => {
      this.#writing = undefined
      const names = [...this.#unwritten]
      this.#unwritten.clear()
      database.write(this.#write, names).catch(() => {
        for (const late of names) this.#unwritten.add(late)
      })
    })
  }

  readonly #write: Write<readonly string[], void> = {
    run: async (tx, inputs) => {
      const rows = inputs.flat().map((name) => [...parseDeviceKey(name), this.#newest.get(name) ?? 0])
      await tx.last(WRITE, JSON.stringify(rows))
      return inputs.map(() => undefined)
    },
  }
}
