import type { StationKey, StoredMessage } from '../../messages/store.ts'
import type { GzipHead } from '../answers/gzip-head.ts'
import { type JsonText, jsonText } from '../answers/json-text.ts'
import { messageRecord } from '../answers/message-record.ts'

/** A station's newest messages in the encoding of the API, ready to be sent. */
export interface ReadyRing {
  /**
   * Time of the station's registration. After a new registration, messages stored under an earlier one must not be
   * sent.
   */
  readonly registeredAt: number
  /** The ring contains every message of the station's history that is newer than this server time. */
  readonly completeFrom: number
  /** Server time of the newest message that the station's history has dropped; 0 if there is none. */
  newestDropped: number
  /**
   * Server time of each message. `senders` has the senders of the same messages, and `ends` has the offsets in `space`
   * at which their records end.
   */
  readonly stamps: number[]
  readonly senders: StationKey[]
  ends: number[]
  /** Offset in `space` at which the oldest message's record begins. */
  begin: number
  /**
   * The records in order, each followed by a comma. As strings, they would take several times their size until the next
   * garbage collection.
   */
  space: Buffer
  /**
   * Whether an answer may still read bytes of `space`. Then records may be appended, but existing bytes must not
   * change.
   */
  shared: boolean
  /** The {@link Slice} that the last request got; undefined after a new message. */
  slice: Slice | undefined
}

/** The messages of a ring that are newer than a cursor, and the avatar hashes of their senders, in one snapshot. */
export interface Slice {
  /** Index, in the ring, of the first message of this slice. */
  readonly first: number
  readonly avatarChanges: number
  /** The JSON records of the messages, oldest first, separated by commas. They remain valid when the ring changes. */
  readonly records: Buffer
  readonly avatars: JsonText
  /** The compressed beginning of an answer, with records and avatars. */
  compressed: GzipHead | Promise<GzipHead> | undefined
}

/** The history of a station as read from the store: its messages newer than `completeFrom`, oldest first. */
interface ReadHistory extends Pick<ReadyRing, 'registeredAt' | 'completeFrom' | 'newestDropped'> {
  readonly messages: readonly StoredMessage[]
}

/** Creates a ring of the newest `perStation` messages. */
export function createRing(
  { registeredAt, completeFrom, newestDropped, messages }: ReadHistory,
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
    newestDropped,
    stamps: newest.map(({ stamp }) => stamp),
    senders: newest.map(({ from }) => from),
    ends,
    begin: 0,
    space,
    shared: false,
    slice: undefined,
  }
}

/** Adds a message that is newer than all others. If the ring then exceeds `perStation`, removes the oldest message. */
export function addToRing(ring: ReadyRing, message: StoredMessage, perStation: number): void {
  if (ring.stamps.length === perStation) {
    ring.newestDropped = Math.max(ring.newestDropped, ring.stamps.shift() ?? 0)
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

/**
 * Returns the bytes of all records from the index `first` on, without a copy. The ring does not overwrite these bytes.
 */
export function recordsFrom(ring: ReadyRing, first: number): Buffer {
  const { ends, begin, space } = ring
  const start = ends[first - 1] ?? begin
  const end = ends.at(-1) ?? begin
  ring.shared = true
  return space.subarray(start, Math.max(start, end - COMMA_BYTES))
}

/** Returns the approximate bytes of memory that a ring occupies. */
export function bytesOfRing({ space, stamps, slice }: ReadyRing): number {
  const compressed = slice?.compressed
  const compressedBytes = compressed && 'blocks' in compressed ? BUFFER_BYTES + compressed.blocks.length : 0
  return RING_BYTES + stamps.length * RECORD_BYTES + space.length + compressedBytes
}

const COMMA_BYTES = 1

// Bytes of memory, measured with 5,000 rings of 50 messages.
const RING_BYTES = 900
// A message's entries in the arrays. All 50 took 1.7 KB if loaded at once, and 3.8 KB if added one by one.
const RECORD_BYTES = 40
// Overhead of a buffer.
const BUFFER_BYTES = 400

/**
 * Size of a new buffer, relative to the size of its records. With the spare capacity, records rarely need to be moved.
 */
const SPARE = 1.08
/** Least relative size of a buffer that is kept. A smaller one is replaced. */
const MIN_SPARE = 1.02

function spaceFor(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.ceil(bytes * SPARE))
}

/**
 * Returns the offset for the next record. If it does not fit at the end, moves all records to the front. Allocates a
 * new buffer only if necessary: garbage collection does not react to the size of buffers.
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
