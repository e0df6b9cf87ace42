import { ackLine } from '../../aprs/message.ts'
import type { Metrics } from '../../metrics.ts'
import type { Acknowledgeable } from './ack-throttle.ts'

/** Acknowledges messages to their senders. */
export interface AckSender {
  /** Returns whether an ack could be sent now. */
  ready(): boolean
  /**
   * Sends the ack of a durable message, and returns whether it was sent. Call only if the store has assigned the ack to
   * this process.
   */
  acknowledge(message: Acknowledgeable): boolean
  /**
   * Counts an ack that is not sent although its station wants acks. `ready`: the value of {@link ready} before storing.
   */
  withhold(ready: boolean): void
}

interface AckSenderParts {
  /**
   * Sends a line, given without its line break, over a verified connection. Returns false if there is none. Never
   * throws.
   */
  readonly send: (line: string) => boolean
  /**
   * Whether {@link AckSenderParts.send} would find a verified connection. Called for each chunk of lines that arrives,
   * so it must be cheap.
   */
  readonly canSend: () => boolean
  readonly metrics: Metrics
}

/** Creates the sender of acks. It never queues an ack: the sender retransmits its message, which gets another ack. */
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
