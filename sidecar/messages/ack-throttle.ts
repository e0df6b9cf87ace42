import { canonicalKey } from '../aprs/station.ts'

/** A message as far as acknowledging it goes: an identical one gets an identical ack. */
export interface Acknowledgeable {
  /** The sender's call exactly as it was received. */
  readonly from: string
  readonly to: string
  /** The number that the ack gives back; not empty. */
  readonly seqId: string
}

/**
 * Which acks may be sent when. `now` is in milliseconds; when it steps backwards, what seems to lie ahead is forgotten.
 */
export interface AckThrottle {
  allows(message: Acknowledgeable, now: number): boolean
  /** Counts an ack that was sent; one that could not be is not counted. */
  sent(message: Acknowledgeable, now: number): void
}

export interface AckLimits {
  /** Least time between two acks for the same message: the network drops identical packets for about 30 s anyway. */
  readonly minIntervalMs: number
  /** Of one sender and station; of a sender and all stations together ten times as many. */
  readonly maxPerSenderPerMinute: number
}

const MINUTE_MS = 60_000
/**
 * A message to a whole net is a message to each of its stations, and each of them acknowledges; more than that of one
 * sender is a flood, or somebody who writes in another's name.
 */
const STATIONS_PER_SENDER = 10
/**
 * Acks, senders, and pairs of sender and station that are remembered at a time. Beyond it the oldest is forgotten: that
 * costs one needless packet, where holding back would cost somebody the ack.
 */
const MAX_REMEMBERED = 10_000

/** A throttle that has sent nothing yet. */
export function createAckThrottle({ minIntervalMs, maxPerSenderPerMinute }: AckLimits): AckThrottle {
  // In the order of the last ack, so that what may be forgotten stands in front.
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
  }
}

/** Counts by key what was done in the last minute. */
function createMinuteCount(max: number) {
  // In the order of the last time.
  const timesOf = new Map<string, readonly number[]>()
  const inLastMinute = (key: string, now: number) =>
    (timesOf.get(key) ?? []).filter((time) => isWithin(MINUTE_MS, time, now))
  return {
    hasRoom: (key: string, now: number) => inLastMinute(key, now).length < max,
    add(key: string, now: number) {
      moveToEnd(timesOf, key, [...inLastMinute(key, now), now])
      dropFront(timesOf, (times) => !times.some((time) => isWithin(MINUTE_MS, time, now)))
    },
  }
}

/** Whether `time` is less than `spanMs` ago. A time ahead of now is from before a backward step of the clock. */
function isWithin(spanMs: number, time: number, now: number): boolean {
  return time <= now && now - time < spanMs
}

// No station's name has a blank in it, so two messages never share an identity.
function identity({ from, to, seqId }: Acknowledgeable): string {
  return `${from} ${to} ${seqId}`
}

function moveToEnd<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
}

function dropFront<V>(map: Map<string, V>, isOver: (value: V) => boolean): void {
  for (const [key, value] of map) {
    if (map.size <= MAX_REMEMBERED && !isOver(value)) return
    map.delete(key)
  }
}
