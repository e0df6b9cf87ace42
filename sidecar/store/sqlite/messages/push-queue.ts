import type { Clock, Timer } from '../../../clock.ts'
import type { PushClaim, PushQueue, Unpushed } from '../../../messages/push-queue.ts'
import {
  type Feed,
  PLATFORMS,
  type Platform,
  type StationKey,
  type Stations,
  type StoredMessage,
} from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { RingIndex } from './ring-index.ts'

// A read that failed is made again by and by, not as fast as it fails.
const CLAIM_AGAIN_MS = 1_000

const TOLD = 'SELECT key, pushed_through AS through FROM station'

const MESSAGES = `
  SELECT time, station AS "to", source AS "from", seq_id AS seqId, text FROM message
  WHERE time IN (SELECT value FROM json_each(?))`

const MARK_PUSHED = `
  UPDATE station SET pushed_through = mark.time
  FROM (SELECT value ->> 0 AS station, max(value ->> 1) AS time FROM json_each(?) GROUP BY 1) AS mark
  WHERE station.key = mark.station AND station.pushed_through < mark.time`

/** One station's notification. Times are elapsed ones. */
interface Entry {
  readonly key: StationKey
  /** Its phone was told of everything up to this stamp. */
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
 * Keeps the entries in memory, one per station at most: one process has the file for itself, and what it says of each station, how far
 * its phone was told, makes them anew at the next start.
 */
export async function openPushQueue(queries: Queries, parts: PushQueueParts): Promise<MemoryPushQueue> {
  const { database, stations, rings, feed, coalesceMs, clock } = parts
  const entries = new Map<StationKey, Entry>()
  /** In the order in which they fell due, each under the platform that its station had then. */
  const due: Record<Platform, Set<Entry>> = { android: new Set(), ios: new Set(), webpush: new Set() }
  /** Settled, while the file did not take it. Not told again while this process lives. */
  const unwritten = new Map<StationKey, number>()
  const listeners: (() => void)[] = []
  let askingAgain: Timer | undefined
  let closed = false

  for (const { key, since } of await withUnpushed(queries, rings)) fallDue(newEntry(key, since, clock.elapsed()))
  feed.onStored((messages) => {
    const at = clock.elapsed()
    for (const message of messages) stored(message, at)
  })

  function newEntry(key: StationKey, since: number, oldestAt: number): Entry {
    const entry: Entry = {
      key,
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
    entries.set(key, entry)
    return entry
  }

  function stored(message: StoredMessage, at: number): void {
    const known = entries.get(message.to)
    // Without an entry, the phone was told of everything before.
    const entry = known ?? newEntry(message.to, message.time - 1, at)
    entry.newest = message
    if (!known) plan(entry, coalesceMs)
    else if (known.isTaken) known.againAt ??= at
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
    const platform = stations.get(entry.key)?.devices[0]?.platform
    // Unregistered meanwhile, with all that was its own.
    if (platform === undefined) entries.delete(entry.key)
    else due[platform].add(entry)
  }

  function tell(): void {
    for (const listener of listeners) listener()
  }

  function take(platform: Platform, room: number): readonly Entry[] {
    const taken: Entry[] = []
    for (const entry of due[platform]) {
      if (taken.length >= room) break
      due[platform].delete(entry)
      if (stations.get(entry.key)?.devices[0]?.platform === platform) {
        entry.isTaken = true
        taken.push(entry)
      } else {
        fallDue(entry)
        tell()
      }
    }
    return taken
  }

  async function read(taken: readonly Entry[]): Promise<ReadonlyMap<StationKey, Unpushed>> {
    // Where no transaction is in progress, so that nothing is told of that may be taken back.
    return database.read(async (reading) => {
      const found = taken.flatMap((entry) => {
        const times = rings.newer(entry.key, entry.since)
        const time = times.at(-1)
        // In the same breath: what is stored from here on was not read.
        entry.againAt = undefined
        return time === undefined ? [] : [{ entry, time, count: times.length }]
      })
      const unknown = found.filter(({ entry }) => entry.newest === undefined).map(({ time }) => time)
      const rows = unknown.length > 0 ? await reading.all<StoredMessage>(MESSAGES, JSON.stringify(unknown)) : []
      const inFile = new Map(rows.map((message) => [message.time, message]))
      return new Map(
        found.flatMap(({ entry: { key, newest }, time, count }) => {
          const message = newest ?? inFile.get(time)
          return message ? [[key, { count, newest: message }]] : []
        }),
      )
    })
  }

  function claimOf(entry: Entry, unpushed: Unpushed | undefined): readonly PushClaim[] {
    const [device] = stations.get(entry.key)?.devices ?? []
    if (!device || !unpushed) {
      finish(entry, entry.since)
      return []
    }
    const now = clock.elapsed()
    const { tries, refusals, oldestAt } = entry
    if (tries === 0) entry.firstTryAt = now
    return [
      {
        station: entry.key,
        device,
        unpushed,
        tries,
        refusals,
        firstTryMs: now - entry.firstTryAt,
        waitedMs: now - oldestAt,
      },
    ]
  }

  /** Its phone was told of everything up to `through`: nothing is left of it but what came since it was claimed. */
  function finish(entry: Entry, through: number): void {
    const { key, againAt, newest } = entry
    entries.delete(key)
    if (againAt === undefined) return
    const next = newEntry(key, through, againAt)
    next.newest = newest
    plan(next, Math.max(0, againAt + coalesceMs - clock.elapsed()))
  }

  /** Puts back, in front of the others, what was taken and could not be read. */
  function release(taken: readonly Entry[]): void {
    const behind = PLATFORMS.flatMap((platform) => [...due[platform]])
    for (const platform of PLATFORMS) due[platform].clear()
    for (const entry of taken) {
      entry.isTaken = false
      entry.againAt = undefined
    }
    for (const entry of [...taken, ...behind]) fallDue(entry)
    if (closed) return
    askingAgain ??= clock.after(CLAIM_AGAIN_MS, () => {
      askingAgain = undefined
      tell()
    })
  }

  const mark: Write<readonly [StationKey, number], void> = {
    async run(tx, inputs) {
      const late = [...unwritten]
      await tx.last(MARK_PUSHED, JSON.stringify([...late, ...inputs]))
      tx.onCommit(() => {
        for (const [key, time] of late) if (unwritten.get(key) === time) unwritten.delete(key)
      })
      return inputs.map(() => undefined)
    },
  }

  return {
    async claim(room) {
      const taken = closed ? [] : PLATFORMS.flatMap((platform) => take(platform, room[platform]))
      if (taken.length === 0) return []
      try {
        const found = await read(taken)
        return taken.flatMap((entry) => claimOf(entry, found.get(entry.key)))
      } catch (error) {
        release(taken)
        throw error
      }
    },

    async settle({ station: key, unpushed: { newest } }) {
      const entry = entries.get(key)
      try {
        await database.write(mark, [key, newest.time])
      } catch (error) {
        unwritten.set(key, newest.time)
        throw error
      } finally {
        if (entry) finish(entry, newest.time)
      }
    },

    async later({ station: key }, { delayMs, tries, refusals }) {
      const entry = entries.get(key)
      if (!entry) return
      entry.isTaken = false
      // The next claim reads it.
      entry.againAt = undefined
      entry.tries = tries
      entry.refusals = refusals
      plan(entry, delayMs)
    },

    onDue(listener) {
      listeners.push(listener)
      if (PLATFORMS.some((platform) => due[platform].size > 0)) listener()
    },

    load() {
      const waiting: Record<Platform, number> = { android: 0, ios: 0, webpush: 0 }
      let retrying = 0
      for (const { key, isTaken, tries, refusals } of entries.values()) {
        const platform = stations.get(key)?.devices[0]?.platform
        if (platform !== undefined) waiting[platform] += 1
        if (!isTaken && tries + refusals > 0) retrying += 1
      }
      return { waiting, retrying }
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
 * Stations whose phones were not told of everything, and up to where they were; those first whose oldest message of the rest came
 * first.
 */
async function withUnpushed(
  queries: Queries,
  rings: Pick<RingIndex, 'newer'>,
): Promise<readonly { readonly key: StationKey; readonly since: number }[]> {
  const stations = await queries.all<{ key: StationKey; through: number }>(TOLD)
  return stations
    .flatMap(({ key, through }) => {
      const [oldest] = rings.newer(key, through)
      return oldest === undefined ? [] : [{ key, since: through, oldest }]
    })
    .sort((one, other) => one.oldest - other.oldest)
}
