import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Avatar, AvatarRecord, StationKey, Stations } from '../../messages/store.ts'
import { type GzipHead, gzipHead } from './gzip-head.ts'
import { bytesOf, jsonText } from './json-text.ts'

/**
 * A full avatar as the JSON that answers contain. It is compressed the first time that a compressed answer includes it.
 */
export class AvatarPiece {
  readonly text: Buffer
  #compressed: GzipHead | undefined

  constructor({ icon, image, hash }: AvatarRecord) {
    this.text = bytesOf(jsonText({ icon, image, hash }))
  }

  get isCompressed(): boolean {
    return this.#compressed !== undefined
  }

  async compressed(): Promise<GzipHead> {
    this.#compressed ??= await gzipHead(this.text)
    return this.#compressed
  }
}

/**
 * Limit in bytes of the JSON of an avatar with an image: icon, image and hash. Source: sections Avatar and Limits of
 * the specification.
 */
const MAX_IMAGE_BYTES = 24_500
const MAX_ICON_BYTES = 1000
/**
 * Limit of the cache in bytes. It fits 380 avatars of the largest size; the average avatar takes a sixth of that size.
 */
const MAX_CACHE_BYTES = 16_000_000
/** Factor for the size of an avatar: the cache may also have a compressed copy, which may be as large. */
const FORMS = 2
/** Number of avatars that a request reads from the store before other requests have their turn. */
const READ_AT_ONCE = 5

/**
 * Caches the most recently requested full avatars, by hash.
 *
 * Beyond the limit, the least recently requested avatars are dropped. The store handles at most one small read of
 * avatars at a time, however many requests arrive.
 */
export class AvatarCache {
  readonly #stations: Pick<Stations, 'get' | 'avatars'>
  readonly #maxBytes: number
  /** Cached avatars by hash; the most recently requested one is last. */
  readonly #pieces = new Map<string, AvatarPiece>()
  #bytes = 0
  /** The most recent read of avatars from the store. The next read starts when that read ends. */
  #lastRead: Promise<unknown> = Promise.resolve()
  /** The promise that the most recent call of {@link AvatarCache.ownTurn} returned. */
  #lastTurn: Promise<void> = Promise.resolve()

  constructor(stations: Pick<Stations, 'get' | 'avatars'>, maxBytes: number = MAX_CACHE_BYTES) {
    this.#stations = stations
    this.#maxBytes = maxBytes
  }

  /** Resolves in a turn of the event loop that no other caller shares: building a megabyte takes milliseconds. */
  ownTurn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => endOfTurn())
    return this.#lastTurn
  }

  /** Returns an upper limit of the bytes that the avatars of the stations `keys` take in an answer. */
  maxBytesOf(keys: readonly StationKey[]): number {
    return keys.reduce((sum, key) => {
      const avatar = this.#stations.get(key)?.avatar
      if (avatar?.state !== 'set') return sum
      return sum + (isImage(avatar) ? (this.#pieces.get(avatar.hash)?.text.length ?? MAX_IMAGE_BYTES) : MAX_ICON_BYTES)
    }, 0)
  }

  /**
   * Returns the avatars of the stations `keys`, in that order. A station that has no avatar is absent. Rejects if the
   * store's read rejects.
   */
  async pieces(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarPiece>> {
    const pieces = new Map<StationKey, AvatarPiece>()
    const missing: StationKey[] = []
    for (const key of keys) {
      const avatar = this.#stations.get(key)?.avatar
      const piece = this.#pieceInMemory(avatar)
      if (piece) pieces.set(key, piece)
      else if (avatar?.state === 'set') missing.push(key)
    }
    for (let first = 0; first < missing.length; first += READ_AT_ONCE) {
      for (const [key, piece] of await this.#read(missing.slice(first, first + READ_AT_ONCE))) pieces.set(key, piece)
      await endOfTurn()
    }
    return new Map(keys.flatMap((key) => (pieces.has(key) ? [[key, pieces.get(key) as AvatarPiece]] : [])))
  }

  #add(hash: string, piece: AvatarPiece): void {
    if (!this.#pieces.has(hash)) this.#bytes += FORMS * piece.text.length
    this.#pieces.delete(hash)
    this.#pieces.set(hash, piece)
    for (const [oldest, { text }] of this.#pieces) {
      if (this.#bytes <= this.#maxBytes) return
      this.#pieces.delete(oldest)
      this.#bytes -= FORMS * text.length
    }
  }

  async #read(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarPiece>> {
    const read = this.#lastRead.then(() => this.#stations.avatars(keys))
    this.#lastRead = read.catch(() => undefined)
    const records = await read
    return new Map(
      [...records].map(([key, record]) => {
        const piece = this.#pieces.get(record.hash) ?? new AvatarPiece(record)
        this.#add(record.hash, piece)
        return [key, piece]
      }),
    )
  }

  /** Returns the avatar if it is cached, or if it is only an icon, which needs no read. */
  #pieceInMemory(avatar: Avatar | undefined): AvatarPiece | undefined {
    if (avatar?.state !== 'set') return undefined
    const { icon, hash } = avatar
    const piece = this.#pieces.get(hash)
    if (piece) this.#add(hash, piece)
    return piece ?? (isImage(avatar) ? undefined : new AvatarPiece({ icon, image: '', hash }))
  }
}

function isImage({ icon, hash }: Avatar & { readonly state: 'set' }): boolean {
  return hash !== `icon:${icon}`
}
