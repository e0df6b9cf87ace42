import type { Clock, Timer } from '../../../clock.ts'
import type { PushClaim, PushQueue, Unpushed } from '../../../messages/push-queue.ts'
import { deviceKey, deviceOf, PLATFORMS, parseDeviceKey } from '../../../messages/station.ts'
import type { Device, DeviceId, Feed, Platform, StationKey, Stations, StoredMessage } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { RingIndex } from './ring-index.ts'

// A read that failed is made again by and by, not as fast as it fails.
const CLAIM_AGAIN_MS = 1_000
// Answers of gateways come one by one. While others are to come, they wait for each other so long: 2,000 of them took
// 159 flushes of the disk where each was written as it came, and take 22.
const GATHER_MS = 100

const TOLD = 'SELECT station, id, pushed_through AS through FROM device'

const MESSAGES = `
  SELECT time AS stamp, station AS "to", source AS "from", seq_id AS seqId, text FROM message
  WHERE time IN (SELECT value FROM json_each(?))`

const MARK_PUSHED = `
  UPDATE device SET pushed_through = mark.time
  FROM (SELECT value ->> 0 AS station, value ->> 1 AS id, max(value ->> 2) AS time FROM json_each(?) GROUP BY 1, 2) AS mark
  WHERE device.station = mark.station AND device.id = mark.id AND pushed_through < mark.time`

/** One device's notification. Times are elapsed ones. */
interface Entry {
  readonly key: StationKey
  readonly id: DeviceId
  /** It was told of everything up to this stamp. */
  readonly since: number
  /** The newest message, unless that is in the file from before the start. */
  newest: StoredMessage | undefined
  isTaken: boolean
  /** Until it is due; undefined from then on. */
  timer: Timer | undefined
  /** When the oldest message came in of what it is about. */
  oldestAt: number
  /** When the first message came in that the claim has not read. */
  againAt: number | undefined
  tries: number
  refusals: number
  firstTryAt: number
}

interface PushQueueParts {
  readonly database: Database
  readonly stations: Pick<Stations, 'get'>
  readonly rings: Pick<RingIndex, 'newer'>
  readonly feed: Pick<Feed, 'onStored'>
  readonly coalesceMs: number
  readonly clock: Clock
}

/** The queue as the rest of the store takes it. */
export interface MemoryPushQueue extends PushQueue {
  /** Writes down what is settled and could not be written before. */
  seal(tx: Transaction): Promise<void>
}

/**
 * Keeps the entries in memory, one per device at most: one process has the file for itself, and what it says of each
 * device, how far it was told, makes them anew at the next start.
 */
export async function openPushQueue(queries: Queries, parts: PushQueueParts): Promise<MemoryPushQueue> {
  const { database, stations, rings, feed, coalesceMs, clock } = parts
  /** By {@link deviceKey}. */
  const entries = new Map<string, Entry>()
  /** In the order in which they fell due, each under the platform that its device had then. */
  const due: Record<Platform, Set<Entry>> = { android: new Set(), ios: new Set(), webpush: new Set() }
  /**
   * Settled, and not in the file yet, or not taken by it. Not told again while this process lives, nor after it was
   * closed.
   */
  const unwritten = new Map<string, number>()
  /** Since when some of them wait to be written; in elapsed time. */
  let gatheringSince: number | undefined
  let taken = 0
  const listeners: (() => void)[] = []
  let askingAgain: Timer | undefined
  let closed = false

  for (const { key, id, since } of await withUnpushed(queries, rings))
    fallDue(newEntry(key, id, since, clock.elapsed()))
  feed.onStored((messages) => {
    const at = clock.elapsed()
    for (const message of messages) stored(message, at)
  })

  function newEntry(key: StationKey, id: DeviceId, since: number, oldestAt: number): Entry {
    const entry: Entry = {
      key,
      id,
      since,
      newest: undefined,
      isTaken: false,
      timer: undefined,
      oldestAt,
      againAt: undefined,
      tries: 0,
      refusals: 0,
      firstTryAt: 0,
    }
    entries.set(deviceKey(key, id), entry)
    return entry
  }

  function deviceIn({ key, id }: Entry): Device | undefined {
    return deviceOf(stations.get(key), id)
  }

  function stored(message: StoredMessage, at: number): void {
    for (const { id } of stations.get(message.to)?.devices ?? []) {
      const known = entries.get(deviceKey(message.to, id))
      // Without an entry, the phone was told of everything before.
      const entry = known ?? newEntry(message.to, id, message.stamp - 1, at)
      entry.newest = message
      if (!known) plan(entry, coalesceMs)
      else if (known.isTaken) known.againAt ??= at
    }
  }

  function plan(entry: Entry, delayMs: number): void {
    if (closed) return
    entry.timer = clock.after(delayMs, () => {
      entry.timer = undefined
      fallDue(entry)
      tell()
    })
  }

  function fallDue(entry: Entry): void {
    const platform = deviceIn(entry)?.platform
    // Unregistered meanwhile, with all that was its own.
    if (platform === undefined) entries.delete(deviceKey(entry.key, entry.id))
    else due[platform].add(entry)
  }

  function tell(): void {
    for (const listener of listeners) listener()
  }

  function take(platform: Platform, room: number): readonly Entry[] {
    const took: Entry[] = []
    for (const entry of due[platform]) {
      if (took.length >= room) break
      due[platform].delete(entry)
      if (deviceIn(entry)?.platform === platform) {
        entry.isTaken = true
        took.push(entry)
      } else {
        fallDue(entry)
        tell()
      }
    }
    taken += took.length
    return took
  }

  async function read(took: readonly Entry[]): Promise<ReadonlyMap<Entry, Unpushed>> {
    // Where no transaction is in progress, so that nothing is told of that may be taken back.
    return database.read(async (reading) => {
      const found = took.flatMap((entry) => {
        // Not of what came before it was unregistered, and registered anew.
        const times = rings.newer(entry.key, Math.max(entry.since, deviceIn(entry)?.registeredAt ?? 0))
        const time = times.at(-1)
        // In the same breath: what is stored from here on was not read.
        entry.againAt = undefined
        return time === undefined ? [] : [{ entry, time, count: times.length }]
      })
      const unknown = found.filter(({ entry }) => entry.newest === undefined).map(({ time }) => time)
      const rows = unknown.length > 0 ? await reading.all<StoredMessage>(MESSAGES, JSON.stringify(unknown)) : []
      const inFile = new Map(rows.map((message) => [message.stamp, message]))
      return new Map(
        found.flatMap(({ entry, time, count }) => {
          const message = entry.newest ?? inFile.get(time)
          return message ? [[entry, { count, newest: message }]] : []
        }),
      )
    })
  }

  function claimOf(entry: Entry, unpushed: Unpushed | undefined): readonly PushClaim[] {
    const device = deviceIn(entry)
    if (!device || !unpushed) {
      oneLess(entry).catch(() => undefined)
      finish(entry, entry.since)
      return []
    }
    const now = clock.elapsed()
    const { tries, refusals, oldestAt } = entry
    if (tries === 0) entry.firstTryAt = now
    const times = { firstTryMs: now - entry.firstTryAt, waitedMs: now - oldestAt }
    return [{ station: entry.key, device, unpushed, tries, refusals, ...times }]
  }

  /** Its phone was told of everything up to `through`: nothing is left of it but what came since it was claimed. */
  function finish(entry: Entry, through: number): void {
    const { key, id, againAt, newest } = entry
    entries.delete(deviceKey(key, id))
    if (againAt === undefined) return
    const next = newEntry(key, id, through, againAt)
    next.newest = newest
    plan(next, Math.max(0, againAt + coalesceMs - clock.elapsed()))
  }

  /** Puts back, in front of the others, what was taken and could not be read. */
  function release(took: readonly Entry[]): void {
    const behind = PLATFORMS.flatMap((platform) => [...due[platform]])
    for (const platform of PLATFORMS) due[platform].clear()
    taken -= took.length
    for (const entry of took) {
      entry.isTaken = false
      entry.againAt = undefined
    }
    for (const entry of [...took, ...behind]) fallDue(entry)
    if (closed) return
    askingAgain ??= clock.after(CLAIM_AGAIN_MS, () => {
      askingAgain = undefined
      tell()
    })
  }

  const mark: Write<void, void> = {
    async run(tx, inputs) {
      const marks = [...unwritten]
      await tx.last(MARK_PUSHED, JSON.stringify(marks.map(([name, time]) => [...parseDeviceKey(name), time])))
      tx.onCommit(() => {
        for (const [name, time] of marks) if (unwritten.get(name) === time) unwritten.delete(name)
      })
      return inputs
    },
  }

  /**
   * Of one claim it is known what became of it. The last one, or one that is late enough, has what is settled written.
   */
  async function oneLess(entry: Entry | undefined): Promise<void> {
    if (entry?.isTaken) taken -= 1
    const since = gatheringSince
    if (since === undefined || (taken > 0 && clock.elapsed() - since < GATHER_MS)) return
    gatheringSince = undefined
    try {
      await database.write(mark, undefined)
    } catch (error) {
      gatheringSince = since
      throw error
    }
  }

  return {
    async claim(room) {
      const took = PLATFORMS.flatMap((platform) => take(platform, room[platform]))
      if (took.length === 0) return []
      try {
        const found = await read(took)
        return took.flatMap((entry) => claimOf(entry, found.get(entry)))
      } catch (error) {
        release(took)
        throw error
      }
    },

    async settle({ station, device, unpushed: { newest } }) {
      const name = deviceKey(station, device.id)
      const entry = entries.get(name)
      unwritten.set(name, newest.stamp)
      gatheringSince ??= clock.elapsed()
      try {
        await oneLess(entry)
      } finally {
        if (entry) finish(entry, newest.stamp)
      }
    },

    async retryLater({ station, device }, { delayMs, tries, refusals }) {
      const entry = entries.get(deviceKey(station, device.id))
      if (!entry) return
      const written = oneLess(entry)
      entry.isTaken = false
      // The next claim reads it.
      entry.againAt = undefined
      entry.tries = tries
      entry.refusals = refusals
      plan(entry, delayMs)
      await written
    },

    onDue(listener) {
      listeners.push(listener)
      if (PLATFORMS.some((platform) => due[platform].size > 0)) listener()
    },

    waiting(platform) {
      let count = 0
      for (const entry of entries.values()) if (deviceIn(entry)?.platform === platform) count += 1
      return count
    },

    close() {
      closed = true
      askingAgain?.cancel()
      for (const { timer } of entries.values()) timer?.cancel()
      listeners.length = 0
    },

    async seal(tx) {
      if (unwritten.size > 0) await mark.run(tx, [])
    },
  }
}

/**
 * Devices that were not told of everything, and up to where they were; those first whose oldest message of the rest
 * came first.
 */
async function withUnpushed(
  queries: Queries,
  rings: Pick<RingIndex, 'newer'>,
): Promise<readonly Pick<Entry, 'key' | 'id' | 'since'>[]> {
  const devices = await queries.all<{ station: StationKey; id: DeviceId; through: number }>(TOLD)
  return devices
    .flatMap(({ station: key, id, through }) => {
      const [oldest] = rings.newer(key, through)
      return oldest === undefined ? [] : [{ key, id, since: through, oldest }]
    })
    .sort((one, other) => one.oldest - other.oldest)
}
