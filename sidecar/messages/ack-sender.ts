import { ackLine } from '../aprs/message.ts'
import type { Clock } from '../clock.ts'
import type { Metrics } from '../metrics.ts'
import { type AckLimits, type Acknowledgeable, createAckThrottle } from './ack-throttle.ts'

/** Acknowledges messages to their senders. */
export interface AckSender {
  /** Sends an ack when the message has a number and the throttle allows it. To be called once the message is durable. */
  acknowledge(message: Acknowledgeable): void
}

interface AckSenderParts {
  /** Hands a line without line break to a verified connection; false when there is none. Never throws. */
  readonly send: (line: string) => boolean
  readonly settings: AckLimits
  readonly clock: Clock
  readonly metrics: Metrics
}

/** An ack that cannot be sent is not made up for: the sender repeats its message, and that is acknowledged again. */
export function createAckSender({ send, settings, clock, metrics }: AckSenderParts): AckSender {
  const throttle = createAckThrottle(settings)
  return {
    acknowledge(message) {
      if (message.seqId === '') return
      const now = clock.elapsed()
      if (!throttle.allows(message, now)) return metrics.count('acks_throttled')
      if (!send(ackLine(message))) return metrics.count('acks_unsendable')
      throttle.sent(message, now)
      metrics.count('acks_sent')
    },
  }
}
