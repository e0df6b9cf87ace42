import type { StationKey } from './station.ts'

/** A message received from APRS-IS, addressed to a station. */
export interface IncomingMessage {
  readonly from: StationKey
  readonly to: StationKey
  /**
   * The station in whose ring the message is stored because one of its devices wants messages to all SSIDs of its
   * callsign; absent in the ring of `to`. A message has a copy for each such ring.
   */
  readonly ring?: StationKey
  /** The sequence id after the last `{`, without trailing blanks; empty if the message has none. */
  readonly seqId: string
  /** The text's bytes, unchanged. */
  readonly text: Buffer
}

/** Returns the station in whose ring the message is stored. */
export function ringOf({ to, ring }: Pick<IncomingMessage, 'to' | 'ring'>): StationKey {
  return ring ?? to
}

/**
 * Returns addressee and ring of a message in the ring of `station`. `addressee`: another SSID of the station's
 * callsign, or nothing.
 */
export function destinationOf(
  station: StationKey,
  addressee: StationKey | null | '',
): Pick<IncomingMessage, 'to' | 'ring'> {
  return addressee ? { to: addressee, ring: station } : { to: station }
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
