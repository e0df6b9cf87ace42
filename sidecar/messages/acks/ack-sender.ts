import { ackLine } from '../../aprs/message.ts'
import type { Metrics } from '../../metrics.ts'
import type { Acknowledgeable } from './ack-throttle.ts'

/** Acknowledges messages to their senders. */
export interface AckSender {
  /** Whether an ack could be sent now. */
  ready(): boolean
  /**
   * Sends the ack of a durable message, and returns whether it was sent. Call only if the store assigned this ack to
   * this process: see {@link AppendOutcome}.
   */
  acknowledge(message: Acknowledgeable): boolean
  /**
   * Counts an ack that is not sent although the station wants acks. `ready`: the result of {@link ready} before the
   * message was stored.
   */
  withhold(ready: boolean): void
}

interface AckSenderParts {
  /**
   * Sends a line, given without its line break, over a verified connection. Returns false if no connection is verified.
   * Never throws.
   */
  readonly send: (line: string) => boolean
  /**
   * Whether {@link AckSenderParts.send} would find a verified connection. It must be fast, because it is called for
   * each chunk of received lines.
   */
  readonly canSend: () => boolean
  readonly metrics: Metrics
}

/**
 * Creates the sender of acks. It drops an ack that cannot be sent, because the retransmitted message gets a new one.
 */
export function createAckSender({ send, canSend, metrics }: AckSenderParts): AckSender {
  return {
    ready: canSend,
    acknowledge(message) {
      const isSent = send(ackLine(message))
      metrics.count(isSent ? 'acks_sent' : 'acks_unsendable')
      return isSent
    },
    withhold: (ready) => metrics.count(ready ? 'acks_throttled' : 'acks_unsendable'),
  }
}
