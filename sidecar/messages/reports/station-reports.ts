import type { Platform } from '../../client/wire/bodies.ts'
import type { PushResult } from './push-result.ts'

/** A station's callsign with its SSID, if it has one. */
type StationKey = string

/** A station in the operator's list. */
export interface StationSummary {
  readonly station: StationKey
  /** Number of devices. */
  readonly devices: number
  /** When a device of the station last registered, in milliseconds since 1970. */
  readonly lastSeenAt: number
  /** Number of devices with a pending notification. */
  readonly pending: number
}

/** A device, as the operator sees it. */
export interface DeviceReport {
  readonly platform: Platform
  readonly pushToken: string
  /** Whether the push gateway reported the token dead, or another device of the station now has the same token. */
  readonly tokenDead: boolean
  readonly ackMessages: boolean
  /** Server time of the device's first registration. */
  readonly registeredAt: number
  /** Wall-clock time of the last registration, in milliseconds since 1970. */
  readonly lastSeenAt: number
  /** Number of pending notifications: 1 if the device has messages without a notification so far, otherwise 0. */
  readonly pending: number
  readonly lastPush: PushResult | null
}

/** A message in the station's ring without its text, as the operator sees it. */
export interface MessageReport {
  readonly from: StationKey
  readonly to: StationKey
  readonly seqId: string
  /** The stamp of the message. */
  readonly time: number
  /** When the sidecar first acknowledged the message, in milliseconds since 1970; null if it did not. */
  readonly ackedAt: number | null
}

/** Everything that the operator may see of one station. */
export interface StationReport {
  readonly station: StationKey
  /** The hash of the station's avatar; empty if there is none. */
  readonly avatarHash: string
  /** The devices in the order of their registration. */
  readonly devices: readonly DeviceReport[]
  /** The messages in the ring, newest first. */
  readonly messages: readonly MessageReport[]
}

/** Reports on stations, from the database, so all instances agree. Only `lastSeenAt` may be up to an hour old. */
export interface StationReports {
  /** Returns at most `limit` stations with keys above `afterKey`, sorted by key. */
  list(afterKey: StationKey, limit: number): Promise<readonly StationSummary[]>
  /** Returns undefined if the station is not registered. */
  get(station: StationKey): Promise<StationReport | undefined>
}
