import { firstNewer } from '../../messages/first-newer.ts'
import { deviceOf } from '../../messages/station.ts'
import type { Cursors, DeviceId, Feed, History, StationKey, Stations, StoredMessage } from '../../messages/store.ts'
import type { BodyHead } from '../answers/answer.ts'
import { type GzipHead, gzipHead } from '../answers/gzip-head.ts'
import { jsonText } from '../answers/json-text.ts'
import { senderAvatars } from '../answers/message-record.ts'
import { addToRing, bytesOfRing, createRing, type ReadyRing, recordsFrom, type Slice } from './ready-ring.ts'
import { bytesOfSlice, sliceHead } from './slice-head.ts'

/** What stations got, ready to be sent. */
export interface RingCache {
  /**
   * The messages strictly newer than `since` with their senders' avatars, and the server time that goes with them as
   * the next cursor. Undefined when the station is not registered, or has no such device. Rejects where the history
   * does.
   */
  since(station: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined>
  /** About what is kept at the moment. */
  readonly bytes: number
}

/** `head` is an answer's beginning, an object that is still open: other members can follow. */
export interface NewMessages {
  readonly head: BodyHead
  readonly serverTime: number
}

interface RingCacheParts {
  readonly stations: Pick<Stations, 'get' | 'avatarChanges'>
  readonly history: Pick<History, 'since' | 'perStation'>
  /** Undefined where other processes store too. */
  readonly feed: Feed | undefined
  readonly cursors: Cursors
  /** For all rings together; those that were not asked for the longest go first. */
  readonly maxBytes?: number
}

/**
 * Enough for 5,000 stations with 50 messages each: 13 KB a station where each text has the 67 characters that it may,
 * compressed too.
 */
const MAX_BYTES = 80_000_000

interface Kept {
  readonly ring: ReadyRing
  bytes: number
}

/** A ring that is being read. */
interface Load {
  /** What was stored meanwhile. */
  readonly late: StoredMessage[]
}

/**
 * Keeps the rings that are asked for: a ring is read from the history once, and what is stored later is added when it
 * is durable. What only the history has, such as messages older than what was asked for before, is read again. Without
 * a feed the history is asked each time, for what is newer than what is kept: reading and showing 50 messages costs
 * four times what it does to ask for none.
 */
export function createRingCache({ stations, history, feed, cursors, maxBytes = MAX_BYTES }: RingCacheParts): RingCache {
  const { perStation } = history
  // In the order in which they were last asked for.
  const rings = new Map<StationKey, Kept>()
  const loads = new Map<StationKey, Load>()
  let bytes = 0
  /** Of the history that what is kept was read from. */
  let lineage: string | undefined

  feed?.onStored((messages) => {
    for (const message of messages) {
      loads.get(message.to)?.late.push(message)
      const kept = rings.get(message.to)
      if (!kept) continue
      addToRing(kept.ring, message, perStation)
      weigh(kept)
    }
    dropOldest()
  })

  function keep(key: StationKey, kept: Kept): void {
    drop(key)
    rings.set(key, kept)
    weigh(kept)
    dropOldest()
  }

  function drop(key: StationKey): void {
    const kept = rings.get(key)
    if (!kept) return
    bytes -= kept.bytes
    kept.bytes = 0
    rings.delete(key)
  }

  function weigh(kept: Kept): void {
    const now = bytesOfRing(kept.ring)
    bytes += now - kept.bytes
    kept.bytes = now
  }

  function dropOldest(): void {
    for (const key of rings.keys()) {
      if (bytes <= maxBytes) return
      drop(key)
    }
  }

  /** What is kept for the station's present registration, if it goes back far enough. */
  function keptFor(key: StationKey, since: number): Kept | undefined {
    const kept = rings.get(key)
    if (!kept || kept.ring.completeFrom > since) return undefined
    return kept.ring.registeredAt === stations.get(key)?.registeredAt ? kept : undefined
  }

  function touch(key: StationKey): void {
    const kept = rings.get(key)
    if (!kept) return
    rings.delete(key)
    rings.set(key, kept)
  }

  async function load(key: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined> {
    const registeredAt = stations.get(key)?.registeredAt
    if (registeredAt === undefined) return undefined
    // Of two at a time only the first keeps what it reads: if the second took over, a third could take over from it,
    // and so on.
    const current: Load | undefined = loads.has(key) ? undefined : { late: [] }
    if (current) loads.set(key, current)
    try {
      const found = await history.since(key, device, since)
      if (!found) return undefined
      const { messages, answerStamp: serverTime } = found
      const ring = createRing(registeredAt, since, messages, perStation)
      const kept = { ring, bytes: 0 }
      const answer = { head: headOf(key, kept, since), serverTime }
      if (current && stations.get(key)?.registeredAt === registeredAt) {
        // The others were read.
        const read = messages.at(-1)?.stamp ?? 0
        for (const message of current.late) if (message.stamp > read) addToRing(ring, message, perStation)
        keep(key, kept)
      }
      return answer
    } finally {
      if (current) loads.delete(key)
    }
  }

  /**
   * What others stored meanwhile comes from the history. What is kept is a copy of it while both agree on which message
   * is the newest, and the history has lost none.
   */
  async function ask(key: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined> {
    const known = rings.get(key)
    const kept = known && known.ring.completeFrom <= since ? known : undefined
    const newestKept = kept?.ring.times.at(-1) ?? 0
    const lineageKept = lineage
    const found = await history.since(key, device, since, kept && Math.max(kept.ring.completeFrom, newestKept))
    if (!found) return undefined
    const { registeredAt, messages, newest } = found
    if (found.lineage !== lineage) {
      // Copies may hold messages that the history has lost, whatever is its newest by now.
      for (const one of rings.keys()) drop(one)
      lineage = found.lineage
    }
    if (kept && found.lineage !== lineageKept) return ask(key, device, since)
    if (kept && (kept.ring.registeredAt !== registeredAt || newest < newestKept)) {
      if (rings.get(key) === kept) drop(key)
      return ask(key, device, since)
    }
    const current = kept ?? { ring: createRing(registeredAt, since, messages, perStation), bytes: 0 }
    const { ring } = current
    // Another answer may have brought some of them, and newer ones, by now.
    for (const message of messages) if (message.stamp > (ring.times.at(-1) ?? 0)) addToRing(ring, message, perStation)
    keep(key, current)
    const last = ring.times.at(-1) ?? 0
    return { head: headOf(key, current, since), serverTime: last > since ? last : found.answerStamp }
  }

  function headOf(key: StationKey, kept: Kept, since: number): BodyHead {
    const slice = sliceOf(kept.ring, since)
    return sliceHead(slice, () => slice.compressed ?? compress(key, kept, slice))
  }

  /** What one asks for now, the next one mostly asks for too. */
  function sliceOf(ring: ReadyRing, since: number): Slice {
    const first = firstNewer(ring.times, since)
    const { avatarChanges } = stations
    if (ring.slice?.first !== first || ring.slice.avatarChanges !== avatarChanges) {
      const avatars = jsonText(senderAvatars(ring.senders.slice(first), stations))
      ring.slice = { first, avatarChanges, records: recordsFrom(ring, first), avatars, compressed: undefined }
    }
    return ring.slice
  }

  function compress(key: StationKey, kept: Kept, slice: Slice): GzipHead | Promise<GzipHead> {
    const made = gzipHead(bytesOfSlice(slice))
    const keepCompressed = (compressed: GzipHead | undefined): void => {
      slice.compressed = compressed
      weighAgain(key, kept)
    }
    slice.compressed = made
    if ('blocks' in made) keepCompressed(made)
    else made.then(keepCompressed, () => keepCompressed(undefined))
    return made
  }

  function weighAgain(key: StationKey, kept: Kept): void {
    if (rings.get(key) !== kept) return
    weigh(kept)
    dropOldest()
  }

  return {
    async since(key, device, since) {
      if (!feed) return ask(key, device, since)
      if (!deviceOf(stations.get(key), device)) return undefined
      const kept = keptFor(key, since)
      if (!kept) return load(key, device, since)
      touch(key)
      const head = headOf(key, kept, since)
      const newest = kept.ring.times.at(-1) ?? 0
      return { head, serverTime: await cursors.stampFor(key, device, since, newest > since ? newest : undefined) }
    },
    get bytes() {
      return bytes
    },
  }
}
