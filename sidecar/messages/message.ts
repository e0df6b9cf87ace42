import type { StationKey } from './station.ts'

/** A message for a station as it came from the air. */
export interface IncomingMessage {
  readonly from: StationKey
  readonly to: StationKey
  /** What the sender put after the last `{`, trailing blanks dropped; empty when none. */
  readonly seqId: string
  /** The text's bytes, unchanged. */
  readonly text: Buffer
}

/** A message that was heard, with what its ack needs. */
export interface ReceivedMessage extends IncomingMessage {
  /** The sender's call exactly as it was received: an ack goes there. */
  readonly sourceAsReceived: string
}

/** A stored message; `time` is its server time. */
export interface StoredMessage extends IncomingMessage {
  readonly stamp: number
}
