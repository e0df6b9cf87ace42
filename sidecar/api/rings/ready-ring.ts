import type { StationKey, StoredMessage } from '../../messages/store.ts'
import type { GzipHead } from '../answers/gzip-head.ts'
import { type JsonText, jsonText } from '../answers/json-text.ts'
import { messageRecord } from '../answers/message-record.ts'

/** A station's newest messages as the API shows them, ready to be sent. */
export interface ReadyRing {
  /** Which registration of the station it is for; what came before is no business of a later one's. */
  readonly registeredAt: number
  /** Every message of the station's history that is newer is here. */
  readonly completeFrom: number
  /** Of each message its server time, its sender, and where its record ends in `space`. */
  readonly times: number[]
  readonly senders: StationKey[]
  ends: number[]
  /** Where the oldest record begins in `space`. */
  begin: number
  /**
   * The records one after the other, a comma behind each. Outside V8's heap: as strings, rings that change all the time
   * took several times their size until the garbage collector came by.
   */
  space: Buffer
  /** What is in `space` was handed out: other records may come behind it, and nothing of it changes any more. */
  shared: boolean
  /** What was asked for since the last message came. */
  slice: Slice | undefined
}

/** What a ring has that is newer than some time, with its senders' avatars as they were at some time. */
export interface Slice {
  /** Index of its first message. */
  readonly first: number
  readonly avatarChanges: number
  /** The records, oldest first, as the inside of a JSON array. They stay the same when the ring changes. */
  readonly records: Buffer
  readonly avatars: JsonText
  /** An answer's beginning with both. */
  compressed: GzipHead | Promise<GzipHead> | undefined
}

/** @param messages oldest first; of more than `perStation` the oldest are left out */
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
    times: newest.map(({ stamp }) => stamp),
    senders: newest.map(({ from }) => from),
    ends,
    begin: 0,
    space,
    shared: false,
    slice: undefined,
  }
}

/** Adds a message that is newer than all others; of more than `perStation` the oldest goes. */
export function addToRing(ring: ReadyRing, message: StoredMessage, perStation: number): void {
  if (ring.times.length === perStation) {
    ring.times.shift()
    ring.senders.shift()
    ring.begin = ring.ends.shift() ?? 0
  }
  const record = recordOf(message)
  const start = roomFor(ring, record.length)
  ring.space.write(record, start, 'latin1')
  ring.times.push(message.stamp)
  ring.senders.push(message.from)
  ring.ends.push(start + record.length)
  ring.slice = undefined
}

/** The records from the message with that index on: those of a {@link Slice}. */
export function recordsFrom(ring: ReadyRing, first: number): Buffer {
  const { ends, begin, space } = ring
  const start = ends[first - 1] ?? begin
  const end = ends.at(-1) ?? begin
  ring.shared = true
  return space.subarray(start, Math.max(start, end - COMMA_BYTES))
}

/** What a ring takes in memory, about. */
export function bytesOfRing({ space, times, slice }: ReadyRing): number {
  const compressed = slice?.compressed
  const compressedBytes = compressed && 'blocks' in compressed ? BUFFER_BYTES + compressed.blocks.length : 0
  return RING_BYTES + times.length * RECORD_BYTES + space.length + compressedBytes
}

const COMMA_BYTES = 1

// Measured with 5,000 rings of 50: the objects and arrays of a ring, the entries of a message in its arrays with its
// sender (1.7 KB a ring where it was read, 3.8 KB where it came message by message), and what a buffer takes beside its
// bytes.
const RING_BYTES = 900
const RECORD_BYTES = 40
const BUFFER_BYTES = 400

/**
 * A space has room for some records more, so that they are seldom moved; where less than that is left, the ring gets a
 * new one.
 */
const SPARE = 1.08
const LEAST_SPARE = 1.02

function spaceFor(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.ceil(bytes * SPARE))
}

/**
 * Where the next record goes. At the end of the space the records are moved to its front, of another one only where
 * somebody may still read them here: a new space each time would be garbage that the collector does not see, since it
 * is outside the heap.
 */
function roomFor(ring: ReadyRing, bytes: number): number {
  const { begin, space } = ring
  const end = ring.ends.at(-1) ?? begin
  if (end + bytes <= space.length) return end
  const needed = end - begin + bytes
  if (ring.shared || needed * LEAST_SPARE > space.length) ring.space = spaceFor(needed)
  ring.shared = false
  space.copy(ring.space, 0, begin, end)
  ring.ends = ring.ends.map((position) => position - begin)
  ring.begin = 0
  return end - begin
}

function recordOf(message: StoredMessage): JsonText {
  return `${jsonText(messageRecord(message))},`
}
