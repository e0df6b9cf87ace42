import { messageNumber } from '../../aprs/sequence-id.ts'

/** The maximum number of received acks that a station keeps. */
export const MAX_RECEIVED_ACKS = 50

/** An ack or a rejection of a message that a station sent. */
export interface ReceivedAck {
  /** Key of the station that sent the ack or rejection. */
  readonly from: string
  /** Key of the station that sent the acknowledged message. */
  readonly to: string
  /** The sequence id of the acknowledged message, as received. */
  readonly seqId: string
  readonly kind: 'ack' | 'rej'
}

/** A stored ack. Its stamp is unique among those of all messages and acks. */
export interface StoredAck extends ReceivedAck {
  readonly stamp: number
}

/** The newest acks and rejections that stations received, at most {@link MAX_RECEIVED_ACKS} for each station. */
export interface ReceivedAcks {
  /**
   * Stores acks to stations with a device that wants them, except repetitions of a recent ack. Resolves with the number
   * of stored acks, once they are durable.
   */
  append(acks: readonly ReceivedAck[]): Promise<number>
}

/**
 * Returns a text that is the same for equal acks. A receiver acknowledges each retransmission, and the station needs
 * only one of these acks.
 */
export function ackIdentity({ from, to, seqId, kind }: ReceivedAck): string {
  return `${to} ${from} ${kind} ${messageNumber(seqId)}`
}
