import type { StationKey, StoredMessage } from '../messages/store.ts'
import type { GzipHead } from './gzip-head.ts'
import { type JsonText, jsonText } from './json-text.ts'
import { messageRecord } from './message-record.ts'

/** A station's newest messages as the API shows them, ready to be sent. */
export interface Ring {
  /** Which registration of the station it is for; what came before is no business of a later one's. */
  readonly registeredAt: number
  /** Every message of the station's history that is newer is here. */
  readonly completeFrom: number
  /** Of each message its server time, its sender, and where its record ends, counted from the first that was ever here. */
  readonly times: number[]
  readonly senders: StationKey[]
  readonly ends: number[]
  /** Records one after the other, a comma behind each; the first of them may be dropped by now. */
  records: JsonText
  /** Where `records` begins, counted alike, and where the oldest message that is still here does. */
  recordsAt: number
  oldestAt: number
  /** Records that came after `records`, not joined yet: most messages come while nobody asks. */
  readonly fresh: JsonText[]
  freshBytes: number
  /** What was asked for since the last message came. */
  slice: Slice | undefined
}

/** An answer's beginning, with a slice and with the avatars of its senders as they were at some time. */
export interface Beginning {
  readonly avatarChanges: number
  readonly head: JsonText
  compressed: GzipHead | Promise<GzipHead> | undefined
}

/** What a ring has that is newer than some time. It stays the same when the ring changes. */
export interface Slice {
  /** Index of its first message. */
  readonly first: number
  /** Of each message. */
  readonly senders: readonly StationKey[]
  /** The records as the inside of a JSON array. */
  readonly records: JsonText
  /** What was last made of it. */
  beginning: Beginning | undefined
}

export function emptyRing(registeredAt: number, completeFrom: number): Ring {
  return {
    registeredAt,
    completeFrom,
    times: [],
    senders: [],
    ends: [],
    records: '',
    recordsAt: 0,
    oldestAt: 0,
    fresh: [],
    freshBytes: 0,
    slice: undefined,
  }
}

/** Adds a message that is newer than all others; of more than `perStation` the oldest goes. */
export function addToRing(ring: Ring, message: StoredMessage, perStation: number): void {
  const record = `${jsonText(messageRecord(message))},`
  ring.times.push(message.time)
  ring.senders.push(message.from)
  ring.ends.push((ring.ends.at(-1) ?? ring.oldestAt) + record.length)
  ring.fresh.push(record)
  ring.freshBytes += record.length
  ring.slice = undefined
  if (ring.times.length <= perStation) return
  ring.times.shift()
  ring.senders.shift()
  ring.oldestAt = ring.ends.shift() ?? ring.oldestAt
}

/** Whether everything in it came since somebody last asked. */
export function isStale({ fresh, times }: Ring): boolean {
  return fresh.length > times.length
}

/** The messages strictly newer than `since`, oldest first. */
export function sliceOfRing(ring: Ring, since: number): Slice {
  const first = firstAfter(ring.times, since)
  if (ring.slice?.first === first) return ring.slice
  joinRecords(ring)
  const start = ring.ends[first - 1] ?? ring.oldestAt
  const records = ring.records.slice(start - ring.recordsAt, -1)
  ring.slice = { first, senders: ring.senders.slice(first), records, beginning: undefined }
  return ring.slice
}

/** What a ring takes in memory, about. */
export function bytesOfRing({ records, freshBytes, times }: Ring): number {
  return RING_BYTES + times.length * RECORD_BYTES + (records.length + freshBytes) * 1.3
}

// Measured with 5,000 rings of 50: the objects and arrays of a ring, and the entries of a message in its arrays with its sender.
// Compressed, records take less than 0.3 of their length.
const RING_BYTES = 700
const RECORD_BYTES = 60

function joinRecords(ring: Ring): void {
  if (ring.fresh.length === 0 && ring.recordsAt === ring.oldestAt) return
  ring.records = (ring.records + ring.fresh.join('')).slice(ring.oldestAt - ring.recordsAt)
  ring.recordsAt = ring.oldestAt
  ring.fresh.length = 0
  ring.freshBytes = 0
}

/** Index of the first of `times` that is newer; their number where none is. */
function firstAfter(times: readonly number[], since: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] as number) > since) high = middle
    else low = middle + 1
  }
  return low
}
