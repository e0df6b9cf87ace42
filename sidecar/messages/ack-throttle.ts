/** A message as far as acknowledging it goes: an identical one gets an identical ack. */
export interface Acknowledgeable {
  readonly from: string
  readonly to: string
  /** The number that the ack gives back; not empty. */
  readonly seqId: string
}

/** Which acks may be sent when. `now` is in milliseconds; when it steps backwards, what seems to lie ahead is forgotten. */
export interface AckThrottle {
  allows(message: Acknowledgeable, now: number): boolean
  /** Counts an ack that was sent; one that could not be is not counted. */
  sent(message: Acknowledgeable, now: number): void
}

export interface AckLimits {
  /** Least time between two acks for the same message: the network drops identical packets for about 30 s anyway. */
  readonly minIntervalMs: number
  readonly maxPerSenderPerMinute: number
}

const MINUTE_MS = 60_000
/**
 * Acks, and senders, that are remembered at a time. Beyond it the oldest is forgotten: that costs one needless packet,
 * where holding back would cost somebody the ack.
 */
const MAX_REMEMBERED = 10_000

/** A throttle that has sent nothing yet. */
export function createAckThrottle({ minIntervalMs, maxPerSenderPerMinute }: AckLimits): AckThrottle {
  // Both maps in the order of the last ack, so that what may be forgotten stands in front.
  const sentAt = new Map<string, number>()
  const bySender = new Map<string, readonly number[]>()

  const inLastMinute = (sender: string, now: number) =>
    (bySender.get(sender) ?? []).filter((time) => isWithin(MINUTE_MS, time, now))

  return {
    allows(message, now) {
      const last = sentAt.get(identity(message))
      if (last !== undefined && isWithin(minIntervalMs, last, now)) return false
      return inLastMinute(message.from, now).length < maxPerSenderPerMinute
    },
    sent(message, now) {
      moveToEnd(sentAt, identity(message), now)
      dropFront(sentAt, (time) => !isWithin(minIntervalMs, time, now))
      moveToEnd(bySender, message.from, [...inLastMinute(message.from, now), now])
      dropFront(bySender, (times) => !times.some((time) => isWithin(MINUTE_MS, time, now)))
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
