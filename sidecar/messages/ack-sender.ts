import { ackLine } from '../aprs/message.ts'
import type { Metrics } from '../metrics.ts'
import type { Acknowledgeable } from './ack-throttle.ts'

/** Acknowledges messages to their senders. */
export interface AckSender {
  /** Whether an ack could be sent now. */
  ready(): boolean
  /** Sends the ack of a message that is durable. To be called where the store says that it is ours to send. */
  acknowledge(message: Acknowledgeable): void
  /** Counts one that is not sent now, though its station wants acks; `ready` is what was true when it was stored. */
  withhold(ready: boolean): void
}

interface AckSenderParts {
  /** Hands a line without line break to a verified connection; false when there is none. Never throws. */
  readonly send: (line: string) => boolean
  /** Whether {@link AckSenderParts.send} would find one. Asked for each read: to be cheap. */
  readonly canSend: () => boolean
  readonly metrics: Metrics
}

/** An ack that cannot be sent is not made up for: the sender repeats its message, and that is acknowledged again. */
export function createAckSender({ send, canSend, metrics }: AckSenderParts): AckSender {
  return {
    ready: canSend,
    acknowledge: (message) => metrics.count(send(ackLine(message)) ? 'acks_sent' : 'acks_unsendable'),
    withhold: (ready) => metrics.count(ready ? 'acks_throttled' : 'acks_unsendable'),
  }
}
