import { canonicalKey } from '../../aprs/station.ts'

/** The parts of a message that determine its ack. Messages with equal parts get identical acks. */
export interface Acknowledgeable {
  /** The sender's callsign exactly as it was received. */
  readonly from: string
  readonly to: string
  /** The sequence id that the ack repeats; not empty. */
  readonly seqId: string
}

/**
 * Decides which acks may be sent. `now` is in milliseconds. After the clock steps backwards, acks that were recorded at
 * later times are ignored.
 */
export interface AckThrottle {
  allows(message: Acknowledgeable, now: number): boolean
  /** Records that an ack was sent. */
  sent(message: Acknowledgeable, now: number): void
  /** Undoes the last call of {@link sent} for the message. Call if the ack could not be sent after all. */
  withdraw(message: Acknowledgeable): void
}

export interface AckLimits {
  /** Minimum time between two acks of the same message. The network drops identical packets for about 30 s anyway. */
  readonly minIntervalMs: number
  /**
   * Limit of acks per minute from one station to one sender. The limit of all stations together is ten times as high.
   */
  readonly maxPerSenderPerMinute: number
}

const MINUTE_MS = 60_000
/**
 * Number of stations that may acknowledge one sender at the full rate, such as the stations of a net. More acks
 * indicate a flood, or a misused callsign.
 */
const STATIONS_PER_SENDER = 10
/**
 * Maximum entries of each list: acks, senders, and pairs of both. Above it, the oldest is forgotten. One ack too many
 * is less harmful than a missing one.
 */
const MAX_REMEMBERED = 10_000

/** Creates a throttle without any recorded acks. */
export function createAckThrottle({ minIntervalMs, maxPerSenderPerMinute }: AckLimits): AckThrottle {
  // Time of the last ack of each message, oldest first.
  const sentAt = new Map<string, number>()
  const ofPair = createMinuteCount(maxPerSenderPerMinute)
  const ofSender = createMinuteCount(maxPerSenderPerMinute * STATIONS_PER_SENDER)

  return {
    allows(message, now) {
      const last = sentAt.get(identity(message))
      if (last !== undefined && isWithin(minIntervalMs, last, now)) return false
      const sender = canonicalKey(message.from)
      return ofPair.hasRoom(`${sender} ${message.to}`, now) && ofSender.hasRoom(sender, now)
    },
    sent(message, now) {
      moveToEnd(sentAt, identity(message), now)
      dropFront(sentAt, (time) => !isWithin(minIntervalMs, time, now))
      const sender = canonicalKey(message.from)
      ofPair.add(`${sender} ${message.to}`, now)
      ofSender.add(sender, now)
    },
    withdraw(message) {
      sentAt.delete(identity(message))
      const sender = canonicalKey(message.from)
      ofPair.removeLast(`${sender} ${message.to}`)
      ofSender.removeLast(sender)
    },
  }
}

/** Creates a counter of the events of the last minute for each key. `max`: limit per key. */
function createMinuteCount(max: number) {
  // Times of the recent events of each key. The keys are sorted by the time of their newest event, oldest first.
  const timesOf = new Map<string, readonly number[]>()
  const inLastMinute = (key: string, now: number) =>
    (timesOf.get(key) ?? []).filter((time) => isWithin(MINUTE_MS, time, now))
  return {
    hasRoom: (key: string, now: number) => inLastMinute(key, now).length < max,
    add(key: string, now: number) {
      moveToEnd(timesOf, key, [...inLastMinute(key, now), now])
      dropFront(timesOf, (times) => !times.some((time) => isWithin(MINUTE_MS, time, now)))
    },
    removeLast(key: string) {
      const times = timesOf.get(key)
      if (times) timesOf.set(key, times.slice(0, -1))
    },
  }
}

/** Whether `time` is less than `spanMs` ago. A `time` after `now` was recorded before the clock stepped backwards. */
function isWithin(spanMs: number, time: number, now: number): boolean {
  return time <= now && now - time < spanMs
}

// Callsigns and station keys contain no blank. So two messages with different parts never get the same identity.
function identity({ from, to, seqId }: Acknowledgeable): string {
  return `${from} ${to} ${seqId}`
}

function moveToEnd<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
}

function dropFront<V>(map: Map<string, V>, isExpired: (value: V) => boolean): void {
  for (const [key, value] of map) {
    if (map.size <= MAX_REMEMBERED && !isExpired(value)) return
    map.delete(key)
  }
}
