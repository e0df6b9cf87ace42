import type { Log } from '../../log.ts'
import type { DeviceId, History, NewMessages as ReadMessages, StationKey, Stations } from '../../messages/store.ts'
import { logFetched } from './fetch-log.ts'
import { addToRing, createRing } from './ready-ring.ts'
import type { NewMessages, RingCache } from './ring-cache.ts'
import { type RingMemory, uncounted } from './ring-memory.ts'
import { uncachedAnswer } from './uncached-answer.ts'

interface SharedRingsParts {
  readonly stations: Pick<Stations, 'get'>
  readonly history: Pick<History, 'since' | 'perStation'>
  readonly memory: RingMemory
  readonly log: Log
}

/**
 * The ring cache for a store to which other processes also write.
 *
 * The ring of a station holds its newest messages. It is absent or cached. A request for an absent ring reads it from
 * the history. A request for a cached ring reads only newer messages, and adds them. So every request queries the
 * history, but most get an empty result. Reading and encoding 50 messages costs four times as much.
 *
 * A cached ring is wrong if the station was registered again, or if the history lost the newest cached message. Then
 * the ring is dropped, and the request is repeated. All rings are dropped if the history's `lineage` changes: the
 * database may have lost their messages, for example in a failover.
 *
 * A device with options gets an {@link uncachedAnswer}, which neither uses the cached rings nor is cached.
 *
 * Guarantee: an answer contains every message that the history had during the request, and no other.
 */
export class SharedRings implements RingCache {
  readonly #stations: Pick<Stations, 'get'>
  readonly #history: Pick<History, 'since' | 'perStation'>
  readonly #memory: RingMemory
  readonly #log: Log
  /** The history's `lineage` when the cached rings were read. It changes when the database may have lost messages. */
  #lineage: string | undefined

  constructor({ stations, history, memory, log }: SharedRingsParts) {
    this.#stations = stations
    this.#history = history
    this.#memory = memory
    this.#log = log
  }

  get bytes(): number {
    return this.#memory.bytes
  }

  async since(key: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined> {
    const candidate = this.#memory.get(key)
    const cached = candidate && candidate.ring.completeFrom <= since ? candidate : undefined
    const newestCached = cached?.ring.stamps.at(-1) ?? 0
    const lineageBefore = this.#lineage
    const readFrom = cached && Math.max(cached.ring.completeFrom, newestCached)
    const read = await this.#history.since(key, device, since, readFrom)
    if (!read) return undefined
    if (!read.isShareable) return this.#uncachedAnswer(key, device, since, readFrom === undefined ? read : undefined)
    const { registeredAt, messages, newest, newestDropped, lineage } = read
    if (lineage !== this.#lineage) {
      this.#memory.clear()
      this.#lineage = lineage
    }
    if (cached && lineage !== lineageBefore) return this.since(key, device, since)
    if (cached && (cached.ring.registeredAt !== registeredAt || newest < newestCached)) {
      if (this.#memory.get(key) === cached) this.#memory.drop(key)
      return this.since(key, device, since)
    }
    const { perStation } = this.#history
    const current =
      cached ?? uncounted(createRing({ registeredAt, completeFrom: since, newestDropped, messages }, perStation))
    const { ring } = current
    ring.newestDropped = Math.max(ring.newestDropped, newestDropped)
    // A simultaneous request may already have added some of these messages, or newer ones, to the ring.
    for (const message of messages) if (message.stamp > (ring.stamps.at(-1) ?? 0)) addToRing(ring, message, perStation)
    // The history no longer has some of the cached messages. Messages to other SSIDs, which are not cached, replaced
    // them in the history.
    if (cached && (ring.stamps[0] ?? Number.POSITIVE_INFINITY) <= ring.newestDropped) {
      this.#memory.drop(key)
      return this.since(key, device, since)
    }
    this.#memory.put(key, current)
    const last = ring.stamps.at(-1) ?? 0
    const head = this.#memory.headOf(key, current, since)
    if (this.#log.isDebug) logFetched(this.#log, key, ring.stamps, since)
    return { head, serverTime: last > since ? last : read.answerStamp, isTruncated: ring.newestDropped > since }
  }

  /**
   * Answers without the cached ring: to a device with options, or while the ring has messages to other SSIDs of the
   * callsign. `read`: the messages, if they were read already.
   */
  async #uncachedAnswer(
    key: StationKey,
    device: DeviceId,
    since: number,
    read: ReadMessages | undefined,
  ): Promise<NewMessages | undefined> {
    const whole = read ?? (await this.#history.since(key, device, since))
    if (!whole) return undefined
    if (this.#log.isDebug) {
      const stamps = whole.messages.map(({ stamp }) => stamp)
      logFetched(this.#log, key, stamps, since)
    }
    return uncachedAnswer(whole, since, this.#stations)
  }
}
