import { firstNewer } from '../../messages/first-newer.ts'
import type { StationKey, Stations } from '../../messages/store.ts'
import type { BodyHead } from '../answers/answer.ts'
import { type GzipHead, gzipHead } from '../answers/gzip-head.ts'
import { jsonText } from '../answers/json-text.ts'
import { senderAvatars } from '../answers/message-record.ts'
import { bytesOfRing, type ReadyRing, recordsFrom, type Slice } from './ready-ring.ts'
import { bytesOfSlice, sliceHead } from './slice-head.ts'

/** A ring, and the size in bytes that it adds to the total of all cached rings. */
export interface CachedRing {
  readonly ring: ReadyRing
  bytes: number
}

export function uncounted(ring: ReadyRing): CachedRing {
  return { ring, bytes: 0 }
}

/**
 * Caches the most recently requested rings, and drops the least recent ones beyond `maxBytes`. An answer that still
 * uses a dropped ring stays valid.
 */
export class RingMemory {
  readonly #stations: Pick<Stations, 'get' | 'avatarChanges'>
  readonly #maxBytes: number
  /** Cached rings by station; the most recently requested one is last. */
  readonly #rings = new Map<StationKey, CachedRing>()
  #bytes = 0

  constructor(stations: Pick<Stations, 'get' | 'avatarChanges'>, maxBytes: number) {
    this.#stations = stations
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: StationKey): CachedRing | undefined {
    return this.#rings.get(key)
  }

  /** Caches a ring as the most recent one. */
  put(key: StationKey, cached: CachedRing): void {
    this.drop(key)
    this.#rings.set(key, cached)
    this.recount(cached)
    this.trim()
  }

  /** Makes a cached ring the most recent one. */
  touch(key: StationKey): void {
    const cached = this.#rings.get(key)
    if (!cached) return
    this.#rings.delete(key)
    this.#rings.set(key, cached)
  }

  drop(key: StationKey): void {
    const cached = this.#rings.get(key)
    if (!cached) return
    this.#bytes -= cached.bytes
    cached.bytes = 0
    this.#rings.delete(key)
  }

  clear(): void {
    for (const key of this.#rings.keys()) this.drop(key)
  }

  /** Updates the total after a ring's size changed. */
  recount(cached: CachedRing): void {
    const bytes = bytesOfRing(cached.ring)
    this.#bytes += bytes - cached.bytes
    cached.bytes = bytes
  }

  trim(): void {
    for (const key of this.#rings.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.drop(key)
    }
  }

  /**
   * Returns the beginning of an answer's JSON body: the ring's messages newer than `since`, and their senders' avatars.
   */
  headOf(key: StationKey, cached: CachedRing, since: number): BodyHead {
    const slice = this.#sliceOf(cached.ring, since)
    return sliceHead(slice, () => slice.compressed ?? this.#compress(key, cached, slice))
  }

  /**
   * Returns the ring's messages newer than `since`. The last request's {@link Slice} is reused if nothing has changed,
   * as usual.
   */
  #sliceOf(ring: ReadyRing, since: number): Slice {
    const first = firstNewer(ring.stamps, since)
    const { avatarChanges } = this.#stations
    if (ring.slice?.first !== first || ring.slice.avatarChanges !== avatarChanges) {
      const avatars = jsonText(senderAvatars(ring.senders.slice(first), this.#stations))
      ring.slice = { first, avatarChanges, records: recordsFrom(ring, first), avatars, compressed: undefined }
    }
    return ring.slice
  }

  #compress(key: StationKey, cached: CachedRing, slice: Slice): GzipHead | Promise<GzipHead> {
    const compressing = gzipHead(bytesOfSlice(slice))
    const store = (compressed: GzipHead | undefined): void => {
      slice.compressed = compressed
      if (this.#rings.get(key) !== cached) return
      this.recount(cached)
      this.trim()
    }
    slice.compressed = compressing
    if ('blocks' in compressing) store(compressing)
    else compressing.then(store, () => store(undefined))
    return compressing
  }
}
