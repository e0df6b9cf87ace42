import type { StoredAck } from './acks/received-acks.ts'
import type { PushResult } from './reports/push-result.ts'
import type { Device, StationKey } from './station.ts'

/** A message in a station's ring (its newest messages), as a database stores it. */
export interface RingMessage {
  readonly stamp: number
  readonly source: string
  readonly seqId: string
  readonly text: Buffer
  /** The addressee, if it is another SSID of the station's callsign; otherwise null. */
  readonly addressee: string | null
  /** Wall-clock time in milliseconds since 1970. */
  readonly receivedAt: number
  /** When the sidecar first acknowledged the message, in milliseconds since 1970; null if it did not. */
  readonly ackedAt: number | null
}

/** A received ack, as a database stores it. */
export interface AckContents extends StoredAck {
  /** Wall-clock time in milliseconds since 1970. */
  readonly receivedAt: number
}

/** A device with all its stored data. */
export interface DeviceContents extends Device {
  /** Stamp of the newest message that a notification to the device announced. */
  readonly pushedThrough: number
  /** The newest cursor that the device has sent; 0 if it has sent none. */
  readonly newestCursor: number
  /** The first push token that the device registered; null if its token never changed. */
  readonly firstToken: string | null
  /** The result of the last try to notify the device; null if there was none. */
  readonly lastPush: PushResult | null
}

/** A station with all its stored data. */
export interface StationContents {
  readonly key: StationKey
  readonly registeredAt: number
  /** Whether the station is known to belong to a real phone; see {@link Stations.prove}. */
  readonly proven: boolean
  readonly devices: readonly DeviceContents[]
  /** Undefined if the station never set an avatar. All strings are empty if it cleared its avatar. */
  readonly avatar:
    | { readonly icon: string; readonly hash: string; readonly updatedAt: number; readonly image: string }
    | undefined
  /** Stamp of the newest message that the full ring has dropped; 0 if it has dropped none. */
  readonly newestDropped: number
  /** The messages in the station's ring, oldest first. */
  readonly messages: readonly RingMessage[]
  /** The acks that the station received, oldest first. */
  readonly acks: readonly AckContents[]
}

/** A message that a full ring has dropped. The database keeps it for a while, to recognize its duplicates. */
export interface DroppedMessage extends Omit<RingMessage, 'ackedAt'> {
  readonly station: StationKey
}

/** Row counts, for comparing the source and the target of a copy. */
export interface ContentCounts {
  readonly stations: number
  readonly devices: number
  readonly avatars: number
  readonly messages: number
  readonly dropped: number
}

/**
 * A snapshot of all stations in a database, for copying to another. It is read in pages, so it need not fit in memory.
 */
export interface Contents {
  readonly counts: ContentCounts
  /** The last stamp that the database issued. */
  readonly lastStamp: number
  /** Number of messages in the fullest ring. */
  readonly fullestRing: number
  stations(): AsyncIterable<readonly StationContents[]>
  /** Returns the dropped messages in the order in which they were dropped. */
  dropped(): AsyncIterable<readonly DroppedMessage[]>
}
