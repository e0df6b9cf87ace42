import type { StationKey } from './station.ts'

/** A message received from APRS-IS, addressed to a station. */
export interface IncomingMessage {
  readonly from: StationKey
  readonly to: StationKey
  /**
   * The station with the ring that stores this copy of the message. Absent if that is the addressee `to`. Another
   * station gets a copy if one of its devices wants the messages to all SSIDs of the callsign.
   */
  readonly ring?: StationKey
  /** The sequence id after the last `{`, without trailing blanks; empty if the message has none. */
  readonly seqId: string
  /** The bytes of the text, exactly as received. */
  readonly text: Buffer
}

/** Returns the station whose ring stores the message. */
export function ringOf({ to, ring }: Pick<IncomingMessage, 'to' | 'ring'>): StationKey {
  return ring ?? to
}

/**
 * Returns the members `to` and `ring` of a message that is in the ring of `station`. `addressee`: the message's
 * addressee, if that is another SSID of the station's callsign.
 */
export function destinationOf(
  station: StationKey,
  addressee: StationKey | null | '',
): Pick<IncomingMessage, 'to' | 'ring'> {
  return addressee ? { to: addressee, ring: station } : { to: station }
}

/** A received message with the data that its ack needs. */
export interface ReceivedMessage extends IncomingMessage {
  /** The sender's callsign exactly as received. The ack is addressed to this spelling. */
  readonly sourceAsReceived: string
}

/** A stored message. */
export interface StoredMessage extends IncomingMessage {
  /**
   * The message's unique stamp: approximately the time at which it was stored, in milliseconds since 1970. See {@link
   * Stamps}.
   */
  readonly stamp: number
}
