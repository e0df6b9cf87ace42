import type { StationKey, StoredMessage } from '../../messages/store.ts'
import type { GzipHead } from '../answers/gzip-head.ts'
import { type JsonText, jsonText } from '../answers/json-text.ts'
import { messageRecord } from '../answers/message-record.ts'

/** A station's newest messages in the encoding of the API, ready to be sent. */
export interface ReadyRing {
  /** Time of the station's registration. A later registration must not see messages of an earlier one. */
  readonly registeredAt: number
  /** The ring has every message of the station's history that is newer than this time. */
  readonly completeFrom: number
  /** Server time of each message. `senders` and `ends` (end of the record in `space`) run parallel to it. */
  readonly stamps: number[]
  readonly senders: StationKey[]
  ends: number[]
  /** Start of the oldest record in `space`. */
  begin: number
  /**
   * The records in order, each followed by a comma. They are outside V8's heap: as strings, rings that change often
   * took several times their size until the next garbage collection.
   */
  space: Buffer
  /** An answer refers to bytes of `space`: records may be appended, but existing bytes must not change. */
  shared: boolean
  /** The slice of the last request; undefined after a new message. */
  slice: Slice | undefined
}

/** A ring's messages that are newer than a cursor, with their senders' avatars at one moment. */
export interface Slice {
  /** Index of the first message in the ring. */
  readonly first: number
  readonly avatarChanges: number
  /** The records, oldest first, as the inside of a JSON array. They stay valid when the ring changes. */
  readonly records: Buffer
  readonly avatars: JsonText
  /** The compressed beginning of an answer with both. */
  compressed: GzipHead | Promise<GzipHead> | undefined
}

/** @param messages oldest first; only the newest `perStation` of them are used */
export function createRing(
  registeredAt: number,
  completeFrom: number,
  messages: readonly StoredMessage[],
  perStation: number,
): ReadyRing {
  const newest = messages.slice(-perStation)
  const records = newest.map(recordOf)
  let end = 0
  const ends = records.map(({ length }) => {
    end += length
    return end
  })
  const space = spaceFor(end)
  space.write(records.join(''), 'latin1')
  return {
    registeredAt,
    completeFrom,
    stamps: newest.map(({ stamp }) => stamp),
    senders: newest.map(({ from }) => from),
    ends,
    begin: 0,
    space,
    shared: false,
    slice: undefined,
  }
}

/** Adds a message that is newer than all others, and removes the oldest beyond `perStation`. */
export function addToRing(ring: ReadyRing, message: StoredMessage, perStation: number): void {
  if (ring.stamps.length === perStation) {
    ring.stamps.shift()
    ring.senders.shift()
    ring.begin = ring.ends.shift() ?? 0
  }
  const record = recordOf(message)
  const start = reserve(ring, record.length)
  ring.space.write(record, start, 'latin1')
  ring.stamps.push(message.stamp)
  ring.senders.push(message.from)
  ring.ends.push(start + record.length)
  ring.slice = undefined
}

/** Returns the records from index `first` on, for a {@link Slice}. */
export function recordsFrom(ring: ReadyRing, first: number): Buffer {
  const { ends, begin, space } = ring
  const start = ends[first - 1] ?? begin
  const end = ends.at(-1) ?? begin
  ring.shared = true
  return space.subarray(start, Math.max(start, end - COMMA_BYTES))
}

/** Returns the approximate memory of a ring. */
export function bytesOfRing({ space, stamps, slice }: ReadyRing): number {
  const compressed = slice?.compressed
  const compressedBytes = compressed && 'blocks' in compressed ? BUFFER_BYTES + compressed.blocks.length : 0
  return RING_BYTES + stamps.length * RECORD_BYTES + space.length + compressedBytes
}

const COMMA_BYTES = 1

// Measured with 5,000 rings of 50 messages. RING_BYTES: a ring's objects and arrays. RECORD_BYTES: a message's entries
// in the arrays, sender included (1.7 KB a ring that was read, 3.8 KB one that grew by message). BUFFER_BYTES: overhead
// of a buffer.
const RING_BYTES = 900
const RECORD_BYTES = 40
const BUFFER_BYTES = 400

/** Spare capacity of a new space, so that records are seldom moved. A ring that would have less gets a new space. */
const SPARE = 1.08
const MIN_SPARE = 1.02

function spaceFor(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.ceil(bytes * SPARE))
}

/**
 * Returns where the next record goes. At the end of the space, moves the records to the front. A new space is allocated
 * only if it is needed or an answer may still read the old one: the garbage collector does not see memory outside the
 * heap.
 */
function reserve(ring: ReadyRing, bytes: number): number {
  const { begin, space } = ring
  const end = ring.ends.at(-1) ?? begin
  if (end + bytes <= space.length) return end
  const needed = end - begin + bytes
  if (ring.shared || needed * MIN_SPARE > space.length) ring.space = spaceFor(needed)
  ring.shared = false
  space.copy(ring.space, 0, begin, end)
  ring.ends = ring.ends.map((position) => position - begin)
  ring.begin = 0
  return end - begin
}

function recordOf(message: StoredMessage): JsonText {
  return `${jsonText(messageRecord(message))},`
}
