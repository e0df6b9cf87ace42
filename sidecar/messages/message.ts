import type { StationKey } from './station.ts'

/** A message received from APRS-IS, addressed to a station. */
export interface IncomingMessage {
  readonly from: StationKey
  readonly to: StationKey
  /**
   * The station whose ring stores this copy, if that is not `to`: one of its devices wants the messages to all SSIDs of
   * the callsign.
   */
  readonly ring?: StationKey
  /** The sequence id after the last `{`, without trailing blanks; empty if the message has none. */
  readonly seqId: string
  /** The bytes of the text, exactly as received. */
  readonly text: Buffer
}

/** Returns the station that stores the message in its ring. */
export function ringOf({ to, ring }: Pick<IncomingMessage, 'to' | 'ring'>): StationKey {
  return ring ?? to
}

/** Returns `to` and `ring` of a message in the ring of `station`. `addressee`: the addressee, if it is another SSID. */
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
