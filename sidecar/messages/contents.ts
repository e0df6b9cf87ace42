import type { Device, StationKey } from './station.ts'

/** A message of a ring, as it lies in a database. */
export interface RingMessage {
  /** Its stamp. */
  readonly stamp: number
  readonly source: string
  readonly seqId: string
  readonly text: Buffer
  /** By the wall clock, in milliseconds since 1970. */
  readonly receivedAt: number
}

/** A device with all that is its own. */
export interface DeviceContents extends Device {
  /** The stamp up to which it was told. */
  readonly pushedThrough: number
  /** The newest cursor that it has brought; 0 where it has brought none. */
  readonly newestCursor: number
  /** Its first push token, once another one has replaced that; null before. */
  readonly firstToken: string | null
}

/** A station with all that is its own. */
export interface StationContents {
  readonly key: StationKey
  readonly registeredAt: number
  /** A phone is known to be behind it. */
  readonly proven: boolean
  readonly devices: readonly DeviceContents[]
  /** Undefined where it never set one; of one that was cleared all texts are empty. */
  readonly avatar:
    | { readonly icon: string; readonly hash: string; readonly updatedAt: number; readonly image: string }
    | undefined
  /** Oldest first. */
  readonly messages: readonly RingMessage[]
}

/** A message that a ring had no room for, and of which a duplicate may still come. */
export interface DroppedMessage extends Omit<RingMessage, 'time'> {
  readonly station: StationKey
}

/** How much there is, to be compared at both ends of a way. */
export interface ContentCounts {
  readonly stations: number
  readonly devices: number
  readonly avatars: number
  readonly messages: number
  readonly dropped: number
}

/**
 * All that a database holds of stations, at one moment, for another one: in pages, so that it need not fit into memory.
 */
export interface Contents {
  readonly counts: ContentCounts
  /** No stamp above it was issued. */
  readonly lastStamp: number
  /** How many messages the fullest ring has. */
  readonly fullestRing: number
  stations(): AsyncIterable<readonly StationContents[]>
  /** In the order in which they were dropped. */
  dropped(): AsyncIterable<readonly DroppedMessage[]>
}
