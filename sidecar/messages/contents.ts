import type { Device, StationKey } from './station.ts'

/** A message of a ring, as a database holds it. */
export interface RingMessage {
  readonly stamp: number
  readonly source: string
  readonly seqId: string
  readonly text: Buffer
  /** Wall-clock time in milliseconds since 1970. */
  readonly receivedAt: number
}

/** A device with all its data. */
export interface DeviceContents extends Device {
  /** Stamp of the newest message that it was notified of. */
  readonly pushedThrough: number
  /** The newest cursor that it has sent; 0 if none. */
  readonly newestCursor: number
  /** Its first push token, once another token has replaced it; null before. */
  readonly firstToken: string | null
}

/** A station with all its data. */
export interface StationContents {
  readonly key: StationKey
  readonly registeredAt: number
  /** Whether it is known to belong to a real phone; see {@link Stations.prove}. */
  readonly proven: boolean
  readonly devices: readonly DeviceContents[]
  /** Undefined if it never set one. All texts are empty if it cleared its avatar. */
  readonly avatar:
    | { readonly icon: string; readonly hash: string; readonly updatedAt: number; readonly image: string }
    | undefined
  /** Oldest first. */
  readonly messages: readonly RingMessage[]
}

/** A message that a full ring has dropped. It is kept to recognize its duplicates. */
export interface DroppedMessage extends Omit<RingMessage, 'time'> {
  readonly station: StationKey
}

/** Row counts, to compare the source and the target of a copy. */
export interface ContentCounts {
  readonly stations: number
  readonly devices: number
  readonly avatars: number
  readonly messages: number
  readonly dropped: number
}

/**
 * A snapshot of all stations in a database, to be copied to another. Read in pages, so that it need not fit in memory.
 */
export interface Contents {
  readonly counts: ContentCounts
  /** The last stamp that was issued. */
  readonly lastStamp: number
  /** Number of messages in the fullest ring. */
  readonly fullestRing: number
  stations(): AsyncIterable<readonly StationContents[]>
  /** Returns the dropped messages in the order in which they were dropped. */
  dropped(): AsyncIterable<readonly DroppedMessage[]>
}
