import type { Log } from '../../log.ts'
import { hasOptions } from '../../messages/devices/device-options.ts'
import { ringOf } from '../../messages/message.ts'
import { deviceOf } from '../../messages/station.ts'
import type { Cursors, DeviceId, Feed, History, StationKey, Stations, StoredMessage } from '../../messages/store.ts'
import { logFetched } from './fetch-log.ts'
import { addToRing, createRing } from './ready-ring.ts'
import type { NewMessages, RingCache } from './ring-cache.ts'
import { type CachedRing, type RingMemory, uncounted } from './ring-memory.ts'
import { uncachedAnswer } from './uncached-answer.ts'

interface LocalRingsParts {
  readonly stations: Pick<Stations, 'get'>
  readonly history: Pick<History, 'since' | 'perStation'>
  readonly feed: Feed
  readonly cursors: Cursors
  readonly memory: RingMemory
  readonly log: Log
}

/** A ring that is being loaded from the history. */
interface Load {
  /** Messages to the station that were stored while its ring is being loaded. */
  readonly late: StoredMessage[]
}

/**
 * The ring cache for a store that only this process uses.
 *
 * The ring of a station holds its newest messages. It is absent, loading or cached:
 * - A request for an absent ring loads it from the history. Messages stored during the load are added when it ends.
 * - The feed adds each durable message to a cached ring, so requests need no query.
 * - A cached ring becomes absent when memory runs short. It is loaded again if a request has an older cursor or the
 *   station was registered again.
 *
 * A device with options gets an {@link uncachedAnswer} from the history. So does every device while the ring has
 * messages to other SSIDs of the station's callsign.
 *
 * Guarantee: an answer contains exactly the messages that the history has for the station's present registration.
 */
export class LocalRings implements RingCache {
  readonly #stations: Pick<Stations, 'get'>
  readonly #history: Pick<History, 'since' | 'perStation'>
  readonly #cursors: Cursors
  readonly #memory: RingMemory
  readonly #log: Log
  readonly #loads = new Map<StationKey, Load>()

  constructor({ stations, history, feed, cursors, memory, log }: LocalRingsParts) {
    this.#stations = stations
    this.#history = history
    this.#cursors = cursors
    this.#memory = memory
    this.#log = log
    feed.onStored((messages) => this.#add(messages))
  }

  get bytes(): number {
    return this.#memory.bytes
  }

  async since(key: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined> {
    const { options } = deviceOf(this.#stations.get(key), device) ?? {}
    if (!options) return undefined
    const cached = hasOptions(options) ? undefined : this.#cachedFor(key, since)
    if (!cached) return this.#load(key, device, since)
    this.#memory.touch(key)
    const head = this.#memory.headOf(key, cached, since)
    if (this.#log.isDebug) logFetched(this.#log, key, cached.ring.stamps, since)
    const newest = cached.ring.stamps.at(-1) ?? 0
    const isTruncated = cached.ring.newestDropped > since
    const serverTime = await this.#cursors.stampFor(key, device, since, newest > since ? newest : undefined)
    return { head, serverTime, isTruncated }
  }

  #add(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      const key = ringOf(message)
      this.#loads.get(key)?.late.push(message)
      const cached = this.#memory.get(key)
      if (!cached) continue
      if (message.ring !== undefined) {
        this.#memory.drop(key)
        continue
      }
      addToRing(cached.ring, message, this.#history.perStation)
      this.#memory.recount(cached)
    }
    this.#memory.trim()
  }

  /** Returns the cached ring of the station's present registration, if it has all messages newer than `since`. */
  #cachedFor(key: StationKey, since: number): CachedRing | undefined {
    const cached = this.#memory.get(key)
    if (!cached || cached.ring.completeFrom > since) return undefined
    return cached.ring.registeredAt === this.#stations.get(key)?.registeredAt ? cached : undefined
  }

  async #load(key: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined> {
    const registeredAt = this.#stations.get(key)?.registeredAt
    if (registeredAt === undefined) return undefined
    // Of several simultaneous loads of a ring, only the first is cached. If each new load replaced the one in progress,
    // a busy ring might never be cached.
    const load: Load | undefined = this.#loads.has(key) ? undefined : { late: [] }
    if (load) this.#loads.set(key, load)
    try {
      const read = await this.#history.since(key, device, since)
      if (!read) return undefined
      if (this.#log.isDebug)
        logFetched(
          this.#log,
          key,
          read.messages.map(({ stamp }) => stamp),
          since,
        )
      if (!read.isShareable) return uncachedAnswer(read, since, this.#stations)
      const { messages, newestDropped, answerStamp: serverTime } = read
      const { perStation } = this.#history
      const cached = uncounted(createRing({ registeredAt, completeFrom: since, newestDropped, messages }, perStation))
      const isTruncated = newestDropped > since
      const answer = { head: this.#memory.headOf(key, cached, since), serverTime, isTruncated }
      const isShareable = load?.late.every(({ ring }) => ring === undefined) === true
      if (load && isShareable && this.#stations.get(key)?.registeredAt === registeredAt) {
        const newestRead = messages.at(-1)?.stamp ?? 0
        for (const message of load.late) if (message.stamp > newestRead) addToRing(cached.ring, message, perStation)
        this.#memory.put(key, cached)
      }
      return answer
    } finally {
      if (load) this.#loads.delete(key)
    }
  }
}
