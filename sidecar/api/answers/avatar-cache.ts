import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Avatar, AvatarRecord, StationKey, Stations } from '../../messages/store.ts'
import { type GzipHead, gzipHead } from './gzip-head.ts'
import { bytesOf, jsonText } from './json-text.ts'

/** A full avatar in JSON, as part of an answer. It is compressed when an answer first needs that. */
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

/** Bytes of the JSON with an image, its icon and its hash. Source: Avatar, Limits. */
const MAX_IMAGE_BYTES = 24_500
const MAX_ICON_BYTES = 1000
/** 380 avatars of the largest size; an avatar of common size takes a sixth of that. */
const MAX_CACHE_BYTES = 16_000_000
/** A piece has a plain and a compressed form, which may be as large as the plain one. */
const FORMS = 2
/** Avatars that one request reads from the store before another request has its turn. */
const READ_AT_ONCE = 5

/**
 * Caches the full avatars that were requested most recently.
 *
 * The key is the hash, so a station's new avatar never meets the old entry. An entry moves to the end when it is
 * requested, and the first ones are dropped beyond the bound. Requests read from the store one after the other, a few
 * avatars at a time. So the store never has more than one small read of avatars, however many requests come.
 */
export class AvatarCache {
  readonly #stations: Pick<Stations, 'get' | 'avatars'>
  readonly #maxBytes: number
  /** In the order of the last request. */
  readonly #pieces = new Map<string, AvatarPiece>()
  #bytes = 0
  /** The last of the reads that run one after the other. */
  #lastRead: Promise<unknown> = Promise.resolve()
  /** The last of the turns that were given out. */
  #lastTurn: Promise<void> = Promise.resolve()

  constructor(stations: Pick<Stations, 'get' | 'avatars'>, maxBytes: number = MAX_CACHE_BYTES) {
    this.#stations = stations
    this.#maxBytes = maxBytes
  }

  /**
   * Resolves in a turn of the event loop that no other caller gets. Building a megabyte of answer takes some
   * milliseconds; several in one turn would delay messages.
   */
  ownTurn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => endOfTurn())
    return this.#lastTurn
  }

  /** Returns an upper bound of the bytes that the avatars of `keys` take in an answer. */
  maxBytesOf(keys: readonly StationKey[]): number {
    return keys.reduce((sum, key) => {
      const avatar = this.#stations.get(key)?.avatar
      if (avatar?.state !== 'set') return sum
      return sum + (isImage(avatar) ? (this.#pieces.get(avatar.hash)?.text.length ?? MAX_IMAGE_BYTES) : MAX_ICON_BYTES)
    }, 0)
  }

  /** Returns the avatars of those of `keys` that have one, in their order. Rejects when the store does. */
  async pieces(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarPiece>> {
    const found = new Map<StationKey, AvatarPiece>()
    const missing: StationKey[] = []
    for (const key of keys) {
      const avatar = this.#stations.get(key)?.avatar
      const piece = this.#pieceInMemory(avatar)
      if (piece) found.set(key, piece)
      else if (avatar?.state === 'set') missing.push(key)
    }
    for (let first = 0; first < missing.length; first += READ_AT_ONCE) {
      for (const [key, piece] of await this.#read(missing.slice(first, first + READ_AT_ONCE))) found.set(key, piece)
      await endOfTurn()
    }
    return new Map(keys.flatMap((key) => (found.has(key) ? [[key, found.get(key) as AvatarPiece]] : [])))
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

  /** Returns a cached avatar, or one that is an icon only and needs no read. */
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
