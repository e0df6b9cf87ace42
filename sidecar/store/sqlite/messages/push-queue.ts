import type { Clock, Timer } from '../../../clock.ts'
import { hasOptions, NO_OPTIONS, takes } from '../../../messages/devices/device-options.ts'
import { destinationOf, ringOf } from '../../../messages/message.ts'
import type { PushClaim, PushQueue, Unpushed } from '../../../messages/push-queue.ts'
import type { PushResult } from '../../../messages/reports/push-result.ts'
import { deviceKey, deviceOf, PLATFORMS } from '../../../messages/station.ts'
import type { Device, DeviceId, Feed, Platform, StationKey, Stations, StoredMessage } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction } from '../database/database.ts'
import { PushMarks } from './push-marks.ts'
import type { RingIndex } from './ring-index.ts'

// Delay in milliseconds before a failed read is repeated. Without it, reads would fail in a tight loop.
const CLAIM_AGAIN_MS = 1_000

const PUSHED = 'SELECT station, id, pushed_through AS through FROM device'

const MESSAGES = `
  SELECT time AS stamp, station, addressee, source AS "from", seq_id AS seqId, text FROM message
  WHERE time IN (SELECT value FROM json_each(?))`

/** The pending notification of one device. Its times are elapsed milliseconds. */
interface Entry {
  readonly key: StationKey
  readonly id: DeviceId
  /** The stamp up to which the device has been notified. */
  readonly since: number
  /** The newest message; undefined if only the file has it, because it was stored before the start. */
  newest: StoredMessage | undefined
  isClaimed: boolean
  /** The timer that makes the entry due; undefined once the entry is due. */
  timer: Timer | undefined
  /** Time at which the oldest message of the notification arrived. */
  oldestAt: number
  /** Time of the first message that arrived after a claim had read the messages; undefined if none arrived. */
  againAt: number | undefined
  tries: number
  refusals: number
  firstTryAt: number
  /** The result of the last try to notify the device; undefined before the first try. */
  result: PushResult | undefined
}

/** The messages that a claim found in the station's ring. */
interface Waiting {
  /** The messages to notify the device of; undefined if there are none. */
  readonly unpushed: Unpushed | undefined
  /** Stamp of the newest message, even if the device's options exclude it; undefined if there is none. */
  readonly through: number | undefined
}

const NOTHING: Waiting = { unpushed: undefined, through: undefined }

interface PushQueueParts {
  readonly database: Database
  readonly stations: Pick<Stations, 'get'>
  readonly rings: Pick<RingIndex, 'newer' | 'hasOtherSsids'>
  readonly feed: Pick<Feed, 'onStored'>
  readonly coalesceMs: number
  readonly clock: Clock
}

/** The interface of the push queue for other modules of the store. */
export interface MemoryPushQueue extends PushQueue {
  /** Writes the push marks that are not in the file yet. */
  seal(tx: Transaction): Promise<void>
  /** Returns whether the device has a pending notification. */
  isPending(station: StationKey, id: DeviceId): boolean
  /** Returns the result of the last try to notify the device; undefined if only the file has it, or there was none. */
  lastResult(station: StationKey, id: DeviceId): PushResult | undefined
}

/** Opens the push queue. It begins with the notifications that the previous process did not send. */
export async function openPushQueue(queries: Queries, parts: PushQueueParts): Promise<MemoryPushQueue> {
  return new SqlitePushQueue(parts, await withUnpushed(queries, parts.rings))
}

/**
 * The push queue in memory, with at most one entry per device. The file records up to which stamp each device was
 * notified, so the next start can recreate the entries.
 *
 * An entry waits until its coalescing window ends (`timer`), then it is due, then it is claimed.
 * - A stored message creates a waiting entry, or joins one that waits or is due. `againAt` records a message during a
 *   claim.
 * - `settle` removes the entry. After a message during the claim, a new entry waits for the rest of its window.
 * - `retryLater` makes the entry wait for a delay. If the read of a claim fails, the entry is due again.
 * - A claim removes the entries of unregistered devices, and those without unpushed messages.
 *
 * {@link PushMarks} writes the outcomes to the file. Claims can still be settled after `close`.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class SqlitePushQueue implements MemoryPushQueue {
  readonly #parts: PushQueueParts
  /** The entries of the queue, by {@link deviceKey}. */
  readonly #entries = new Map<string, Entry>()
  /** Due entries by platform, in the order in which they became due. A device may have changed its platform since. */
  readonly #due: Record<Platform, Set<Entry>> = { android: new Set(), ios: new Set(), webpush: new Set() }
  readonly #marks: PushMarks
  readonly #listeners: (() => void)[] = []
  #claimingAgain: Timer | undefined
  #isClosed = false

  constructor(parts: PushQueueParts, unpushed: readonly Pick<Entry, 'key' | 'id' | 'since'>[]) {
    this.#parts = parts
    const { feed, clock } = parts
    this.#marks = new PushMarks(parts.database, clock)
    for (const { key, id, since } of unpushed) this.#becomeDue(this.#createEntry(key, id, since, clock.elapsed()))
    feed.onStored((messages) => {
      const now = clock.elapsed()
      for (const message of messages) this.#add(message, now)
    })
  }

  readonly claim: PushQueue['claim'] = async (room) => {
    const entries = PLATFORMS.flatMap((platform) => this.#take(platform, room[platform]))
    if (entries.length === 0) return []
    try {
      const unpushed = await this.#read(entries)
      return entries.flatMap((entry) => this.#claimOf(entry, unpushed.get(entry)))
    } catch (error) {
      this.#release(entries)
      throw error
    }
  }

  readonly settle: PushQueue['settle'] = async ({ station, device, unpushed: { newest } }, result) => {
    const name = deviceKey(station, device.id)
    const entry = this.#entries.get(name)
    this.#marks.add(name, { stamp: newest.stamp, result: result ?? entry?.result })
    try {
      await this.#marks.ended(entry?.isClaimed === true)
    } finally {
      if (entry) this.#finish(entry, newest.stamp)
    }
  }

  readonly retryLater: PushQueue['retryLater'] = async ({ station, device }, { delayMs, tries, refusals }, result) => {
    const entry = this.#entries.get(deviceKey(station, device.id))
    if (!entry) return
    const written = this.#marks.ended(entry.isClaimed)
    entry.isClaimed = false
    // The next claim reads the messages that arrived during this claim.
    entry.againAt = undefined
    entry.tries = tries
    entry.refusals = refusals
    entry.result = result ?? entry.result
    this.#plan(entry, delayMs)
    await written
  }

  readonly onDue = (listener: () => void): void => {
    this.#listeners.push(listener)
    if (PLATFORMS.some((platform) => this.#due[platform].size > 0)) listener()
  }

  readonly waiting = (platform: Platform): number => {
    let count = 0
    for (const entry of this.#entries.values()) if (this.#deviceOf(entry)?.platform === platform) count += 1
    return count
  }

  readonly close = (): void => {
    this.#isClosed = true
    this.#claimingAgain?.cancel()
    for (const { timer } of this.#entries.values()) timer?.cancel()
    this.#listeners.length = 0
  }

  readonly seal = (tx: Transaction): Promise<void> => this.#marks.seal(tx)

  readonly isPending: MemoryPushQueue['isPending'] = (station, id) => this.#entries.has(deviceKey(station, id))

  readonly lastResult: MemoryPushQueue['lastResult'] = (station, id) => {
    const name = deviceKey(station, id)
    return this.#entries.get(name)?.result ?? this.#marks.resultOf(name)
  }

  #createEntry(key: StationKey, id: DeviceId, since: number, oldestAt: number): Entry {
    const entry: Entry = {
      key,
      id,
      since,
      newest: undefined,
      isClaimed: false,
      timer: undefined,
      oldestAt,
      againAt: undefined,
      tries: 0,
      refusals: 0,
      firstTryAt: 0,
      result: undefined,
    }
    this.#entries.set(deviceKey(key, id), entry)
    return entry
  }

  #deviceOf({ key, id }: Entry): Device | undefined {
    return deviceOf(this.#parts.stations.get(key), id)
  }

  /** Adds a message that was stored at `now`. */
  #add(message: StoredMessage, now: number): void {
    const { stations, coalesceMs } = this.#parts
    const ring = ringOf(message)
    for (const { id, options } of stations.get(ring)?.devices ?? []) {
      if (!takes(options, message)) continue
      const former = this.#entries.get(deviceKey(ring, id))
      // If there is no entry, the device was notified of all earlier messages.
      const entry = former ?? this.#createEntry(ring, id, message.stamp - 1, now)
      entry.newest = message
      if (!former) this.#plan(entry, coalesceMs)
      else if (former.isClaimed) former.againAt ??= now
    }
  }

  #plan(entry: Entry, delayMs: number): void {
    if (this.#isClosed) return
    entry.timer = this.#parts.clock.after(delayMs, () => {
      entry.timer = undefined
      this.#becomeDue(entry)
      this.#notify()
    })
  }

  #becomeDue(entry: Entry): void {
    const platform = this.#deviceOf(entry)?.platform
    // If the device was unregistered while its entry waited, removes the entry.
    if (platform === undefined) this.#entries.delete(deviceKey(entry.key, entry.id))
    else this.#due[platform].add(entry)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /**
   * Claims at most `room` due entries of a platform. If the device of an entry has changed its platform, the entry
   * moves to that platform.
   */
  #take(platform: Platform, room: number): readonly Entry[] {
    const entries: Entry[] = []
    for (const entry of this.#due[platform]) {
      if (entries.length >= room) break
      this.#due[platform].delete(entry)
      if (this.#deviceOf(entry)?.platform === platform) {
        entry.isClaimed = true
        entries.push(entry)
      } else {
        this.#becomeDue(entry)
        this.#notify()
      }
    }
    this.#marks.began(entries.length)
    return entries
  }

  /** Reads the messages that the devices have not been notified of. */
  async #read(entries: readonly Entry[]): Promise<ReadonlyMap<Entry, Waiting>> {
    const { database, rings } = this.#parts
    // Reads between transactions, so that no device is notified of a message that may be rolled back.
    return database.read(async (reading) => {
      const waiting = entries.map((entry) => {
        const { registeredAt = 0, options = NO_OPTIONS } = this.#deviceOf(entry) ?? {}
        // If the device was unregistered and registered again, messages before the new registration are excluded.
        const stamps = rings.newer(entry.key, Math.max(entry.since, registeredAt))
        // Do not `await` between reading the stamps and this line. Otherwise this line could erase the `againAt` of a
        // message that `stamps` lacks.
        entry.againAt = undefined
        const isSelective = hasOptions(options) || rings.hasOtherSsids(entry.key)
        return { entry, stamps, options, isSelective }
      })
      const unread = waiting.flatMap(({ entry, stamps, isSelective }) =>
        isSelective ? stamps : entry.newest ? [] : stamps.slice(-1),
      )
      const rows = unread.length > 0 ? await reading.all<MessageRow>(MESSAGES, JSON.stringify(unread)) : []
      const inFile = new Map(rows.map((row) => [row.stamp, messageFrom(row)]))
      return new Map(
        waiting.map(({ entry, stamps, options, isSelective }) => {
          const through = stamps.at(-1)
          if (through === undefined) return [entry, NOTHING]
          if (!isSelective) {
            const newest = entry.newest ?? inFile.get(through)
            return [entry, { unpushed: newest && { count: stamps.length, newest }, through }]
          }
          const messages = stamps
            .flatMap((stamp) => inFile.get(stamp) ?? [])
            .filter((message) => takes(options, message))
          const newest = messages.at(-1)
          return [entry, { unpushed: newest && { count: messages.length, newest }, through }]
        }),
      )
    })
  }

  #claimOf(entry: Entry, { unpushed, through }: Waiting = NOTHING): readonly PushClaim[] {
    const device = this.#deviceOf(entry)
    if (!device || !unpushed) {
      if (through !== undefined)
        this.#marks.add(deviceKey(entry.key, entry.id), { stamp: through, result: entry.result })
      this.#marks.ended(entry.isClaimed).catch(() => undefined)
      this.#finish(entry, entry.since)
      return []
    }
    const now = this.#parts.clock.elapsed()
    const { tries, refusals, oldestAt } = entry
    if (tries === 0) entry.firstTryAt = now
    const [firstTryMs, waitedMs] = [now - entry.firstTryAt, now - oldestAt]
    return [{ station: entry.key, device, unpushed, tries, refusals, firstTryMs, waitedMs }]
  }

  /**
   * Removes an entry after its device was notified of the messages up to the stamp `through`. If messages arrived
   * during the claim, creates a new entry for them.
   */
  #finish(entry: Entry, through: number): void {
    const { key, id, againAt, newest } = entry
    this.#entries.delete(deviceKey(key, id))
    if (againAt === undefined) return
    const { coalesceMs, clock } = this.#parts
    const next = this.#createEntry(key, id, through, againAt)
    next.newest = newest
    this.#plan(next, Math.max(0, againAt + coalesceMs - clock.elapsed()))
  }

  /** Returns claimed entries to the head of the due entries, because the messages for them could not be read. */
  #release(entries: readonly Entry[]): void {
    const behind = PLATFORMS.flatMap((platform) => [...this.#due[platform]])
    for (const platform of PLATFORMS) this.#due[platform].clear()
    this.#marks.began(-entries.length)
    for (const entry of entries) {
      entry.isClaimed = false
      entry.againAt = undefined
    }
    for (const entry of [...entries, ...behind]) this.#becomeDue(entry)
    if (this.#isClosed) return
    this.#claimingAgain ??= this.#parts.clock.after(CLAIM_AGAIN_MS, () => {
      this.#claimingAgain = undefined
      this.#notify()
    })
  }
}

/**
 * Returns the devices with unpushed messages, and the stamp up to which each was notified. The device with the oldest
 * unpushed message is first.
 */
async function withUnpushed(
  queries: Queries,
  rings: Pick<RingIndex, 'newer'>,
): Promise<readonly Pick<Entry, 'key' | 'id' | 'since'>[]> {
  const devices = await queries.all<{ station: StationKey; id: DeviceId; through: number }>(PUSHED)
  return devices
    .flatMap(({ station: key, id, through }) => {
      const [oldest] = rings.newer(key, through)
      return oldest === undefined ? [] : [{ key, id, since: through, oldest }]
    })
    .sort((a, b) => a.oldest - b.oldest)
}

interface MessageRow extends Omit<StoredMessage, 'to' | 'ring'> {
  readonly station: StationKey
  readonly addressee: StationKey | null
}

function messageFrom({ station, addressee, ...message }: MessageRow): StoredMessage {
  return { ...message, ...destinationOf(station, addressee) }
}
