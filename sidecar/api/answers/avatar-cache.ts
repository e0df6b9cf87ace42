import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Avatar, AvatarRecord, StationKey, Stations } from '../../messages/store.ts'
import { type GzipHead, gzipHead } from './gzip-head.ts'
import { bytesOf, jsonText } from './json-text.ts'

/** A whole avatar in JSON, as it goes into answers; compressed when an answer first needs that. */
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

/** Whole avatars, ready to be sent. */
export interface AvatarCache {
  /** At most how many bytes the avatars of `keys` have in an answer. */
  bytesAtMost(keys: readonly StationKey[]): number
  /** The avatars of those of `keys` that have one, in their order. Rejects where the store does. */
  pieces(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarPiece>>
  /**
   * Resolves in a turn of the event loop that no other caller gets. Putting an answer together takes some milliseconds
   * for a megabyte: many in one turn would hold up messages.
   */
  ownTurn(): Promise<void>
}

/** Of an image, its icon and hash as JSON. Source: Avatar, Limits. */
const MAX_IMAGE_BYTES = 24_500
const MAX_ICON_BYTES = 1000
/** 380 avatars of the largest size; an avatar of common size takes a sixth of that. */
const MAX_CACHE_BYTES = 16_000_000
/** Both forms of a piece; what compresses badly has about as many bytes compressed. */
const FORMS = 2
/** Avatars read from the store for one call before another call has its turn. */
const READ_AT_ONCE = 5

/**
 * Keeps the avatars that were asked for last, by hash, which is also what tells that one is still the station's. Calls
 * read from the store one after the other, a few avatars each in turn, so that however many calls come, the store has
 * one small read of them to do at a time.
 */
export function createAvatarCache(
  stations: Pick<Stations, 'get' | 'avatars'>,
  maxBytes: number = MAX_CACHE_BYTES,
): AvatarCache {
  // In the order in which they were last asked for.
  const kept = new Map<string, AvatarPiece>()
  let bytes = 0
  let reading: Promise<unknown> = Promise.resolve()
  let turns: Promise<void> = Promise.resolve()

  function keep(hash: string, piece: AvatarPiece): void {
    if (!kept.has(hash)) bytes += FORMS * piece.text.length
    kept.delete(hash)
    kept.set(hash, piece)
    for (const [oldest, { text }] of kept) {
      if (bytes <= maxBytes) return
      kept.delete(oldest)
      bytes -= FORMS * text.length
    }
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = reading.then(work)
    reading = mine.catch(() => undefined)
    return mine
  }

  async function read(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarPiece>> {
    const records = await inTurn(() => stations.avatars(keys))
    return new Map(
      [...records].map(([key, record]) => {
        const piece = kept.get(record.hash) ?? new AvatarPiece(record)
        keep(record.hash, piece)
        return [key, piece]
      }),
    )
  }

  /** What needs no image: an icon, or an avatar that is kept. */
  function atHand(avatar: Avatar | undefined): AvatarPiece | undefined {
    if (avatar?.state !== 'set') return undefined
    const { icon, hash } = avatar
    const piece = kept.get(hash)
    if (piece) keep(hash, piece)
    return piece ?? (isImage(avatar) ? undefined : new AvatarPiece({ icon, image: '', hash }))
  }

  return {
    ownTurn() {
      turns = turns.then(() => endOfTurn())
      return turns
    },
    bytesAtMost(keys) {
      return keys.reduce((sum, key) => {
        const avatar = stations.get(key)?.avatar
        if (avatar?.state !== 'set') return sum
        return sum + (isImage(avatar) ? (kept.get(avatar.hash)?.text.length ?? MAX_IMAGE_BYTES) : MAX_ICON_BYTES)
      }, 0)
    },
    async pieces(keys) {
      const found = new Map<StationKey, AvatarPiece>()
      const missing: StationKey[] = []
      for (const key of keys) {
        const avatar = stations.get(key)?.avatar
        const piece = atHand(avatar)
        if (piece) found.set(key, piece)
        else if (avatar?.state === 'set') missing.push(key)
      }
      for (let first = 0; first < missing.length; first += READ_AT_ONCE) {
        for (const [key, piece] of await read(missing.slice(first, first + READ_AT_ONCE))) found.set(key, piece)
        await endOfTurn()
      }
      return new Map(keys.flatMap((key) => (found.has(key) ? [[key, found.get(key) as AvatarPiece]] : [])))
    },
  }
}

function isImage({ icon, hash }: Avatar & { readonly state: 'set' }): boolean {
  return hash !== `icon:${icon}`
}
