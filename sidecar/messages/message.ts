import type { StationKey } from './station.ts'

/** A message received from APRS-IS, addressed to a station. */
export interface IncomingMessage {
  readonly from: StationKey
  readonly to: StationKey
  /** The sequence id after the last `{`, without trailing blanks; empty if the message has none. */
  readonly seqId: string
  /** The text's bytes, unchanged. */
  readonly text: Buffer
}

/** A received message with the data that its ack needs. */
export interface ReceivedMessage extends IncomingMessage {
  /** The sender's callsign exactly as it was received, which is the addressee of the ack. */
  readonly sourceAsReceived: string
}

/** A stored message. */
export interface StoredMessage extends IncomingMessage {
  /** Its unique stamp: the server's time in milliseconds when it was stored. See {@link Stamps}. */
  readonly stamp: number
}
