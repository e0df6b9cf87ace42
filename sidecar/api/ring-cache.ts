import type { Feed, History, StationKey, Stations, StoredMessage } from '../messages/store.ts'
import type { Body } from './answer.ts'
import { type GzipHead, gzipHead } from './gzip-head.ts'
import { bytesOf, jsonText } from './json-text.ts'
import { senderAvatars } from './message-record.ts'
import {
  addToRing,
  type Beginning,
  bytesOfRing,
  emptyRing,
  isStale,
  type Ring,
  type Slice,
  sliceOfRing,
} from './ring.ts'

/** What stations got, ready to be sent. */
export interface RingCache {
  /**
   * The messages strictly newer than `since` with their senders' avatars, and the server time that goes with them as the next
   * cursor. Undefined when the station is not registered. Rejects where the history does.
   */
  since(station: StationKey, since: number): Promise<NewMessages | undefined>
  /** About what is kept at the moment. */
  readonly bytes: number
}

/** `head` is an answer's beginning, an object that is still open: other members can follow. */
export interface NewMessages extends Pick<Body, 'head' | 'gzipHead'> {
  readonly serverTime: number
}

interface RingCacheParts {
  readonly stations: Pick<Stations, 'get' | 'avatarChanges'>
  readonly history: Pick<History, 'since' | 'perStation'>
  readonly feed: Feed
  /** For all rings together; those that were not asked for the longest go first. */
  readonly maxBytes?: number
}

/** Enough for 5,000 stations with 50 messages each. */
const MAX_BYTES = 64_000_000

interface Kept {
  readonly ring: Ring
  bytes: number
}

/** A ring that is being read. */
interface Load {
  /** What was stored meanwhile. */
  readonly late: StoredMessage[]
}

/**
 * Keeps the rings that are asked for: a ring is read from the history once, and what is stored later is added when it is durable.
 * What only the history has, such as messages older than what was asked for before, is read again.
 */
export function createRingCache({ stations, history, feed, maxBytes = MAX_BYTES }: RingCacheParts): RingCache {
  const { perStation } = history
  // In the order in which they were last asked for.
  const rings = new Map<StationKey, Kept>()
  const loads = new Map<StationKey, Load>()
  let bytes = 0

  feed.onStored((messages) => {
    for (const message of messages) {
      loads.get(message.to)?.late.push(message)
      const kept = rings.get(message.to)
      if (!kept) continue
      addToRing(kept.ring, message, perStation)
      if (isStale(kept.ring)) drop(message.to)
      else weigh(kept)
    }
    dropOldest()
  })

  function keep(key: StationKey, ring: Ring): void {
    drop(key)
    const kept = { ring, bytes: 0 }
    rings.set(key, kept)
    weigh(kept)
    dropOldest()
  }

  function drop(key: StationKey): void {
    bytes -= rings.get(key)?.bytes ?? 0
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
  function keptRing(key: StationKey, since: number): Ring | undefined {
    const kept = rings.get(key)
    if (!kept || kept.ring.completeFrom > since) return undefined
    return kept.ring.registeredAt === stations.get(key)?.registeredAt ? kept.ring : undefined
  }

  function touch(key: StationKey): void {
    const kept = rings.get(key)
    if (!kept) return
    rings.delete(key)
    rings.set(key, kept)
  }

  async function load(key: StationKey, since: number): Promise<NewMessages | undefined> {
    const registeredAt = stations.get(key)?.registeredAt
    if (registeredAt === undefined) return undefined
    // Of two at a time only the first keeps what it reads: if the second took over, a third could take over from it, and so on.
    const current: Load | undefined = loads.has(key) ? undefined : { late: [] }
    if (current) loads.set(key, current)
    try {
      const found = await history.since(key, since)
      if (!found) return undefined
      const { messages, serverTime } = found
      const ring = emptyRing(registeredAt, since)
      for (const message of messages) addToRing(ring, message, perStation)
      const answer = answerOf(ring, since, serverTime)
      if (current && stations.get(key)?.registeredAt === registeredAt) {
        // The others were read.
        for (const message of current.late) if (message.time > serverTime) addToRing(ring, message, perStation)
        keep(key, ring)
      }
      return answer
    } finally {
      if (current) loads.delete(key)
    }
  }

  function answerOf(ring: Ring, since: number, serverTime: number): NewMessages {
    const slice = sliceOfRing(ring, since)
    let { beginning } = slice
    if (beginning?.avatarChanges !== stations.avatarChanges) {
      beginning = beginningOf(slice)
      slice.beginning = beginning
    }
    const { head } = beginning
    return { head, serverTime, gzipHead: () => compressed(beginning) }
  }

  function beginningOf({ records, senders }: Slice): Beginning {
    const avatars = jsonText(senderAvatars(senders, stations))
    const head = `{"messages":[${records}],"avatars":${avatars}`
    return { avatarChanges: stations.avatarChanges, head, compressed: undefined }
  }

  return {
    async since(key, since) {
      if (keptRing(key, since)) {
        touch(key)
        const answer = await feed.view((serverTime) => {
          const ring = keptRing(key, since)
          return ring && answerOf(ring, since, serverTime)
        })
        if (answer) return answer
      }
      return load(key, since)
    },
    get bytes() {
      return bytes
    },
  }
}

/** Once: what one asks for now, the next one mostly asks for too. */
function compressed(beginning: Beginning): GzipHead | Promise<GzipHead> {
  beginning.compressed ??= gzipHead(bytesOf(beginning.head))
  return beginning.compressed
}
