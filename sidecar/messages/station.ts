import { type DeviceOptions, takes } from './devices/device-options.ts'

/** A callsign with optional SSID, `N0CALL` or `N0CALL-7`: upper case, at most 9 characters. */
export type StationKey = string

/** The platforms of devices, one for each push gateway: FCM, APNs and Web Push (RFC 8030). */
export const PLATFORMS = ['android', 'ios', 'webpush'] as const
export type Platform = (typeof PLATFORMS)[number]
/** A number for each push platform. */
export type ByPlatform = Readonly<Record<Platform, number>>

/** The avatar of a station. `updatedAt` is a stamp. */
export type Avatar =
  | { readonly state: 'never' }
  | { readonly state: 'cleared'; readonly updatedAt: number }
  /** `hash`: a SHA-256 if there is an image, otherwise `icon:<name>`. */
  | { readonly state: 'set'; readonly icon: string; readonly hash: string; readonly updatedAt: number }

/**
 * The id that distinguishes the devices of a station. The app chooses it at random, and keeps it secret. Empty if the
 * app sends no id.
 */
export type DeviceId = string

/** The maximum number of devices of a station. */
export const MAX_DEVICES = 8

/** The age at which an unproven station may be replaced in a full registry, in milliseconds. */
export const UNPROVEN_MS = 3_600_000

/** A phone that is registered for a station. */
export interface Device {
  readonly id: DeviceId
  readonly platform: Platform
  readonly pushToken: string
  /**
   * Whether the push gateway reported the token dead, or another device of the station has registered it. True until
   * this device registers a token again.
   */
  readonly tokenDead: boolean
  readonly ackMessages: boolean
  readonly options: DeviceOptions
  /**
   * Stamp of the device's first registration. The device is not notified of earlier messages. This stamp serves as the
   * device's cursor until the device sends one.
   */
  readonly registeredAt: number
  /**
   * Wall-clock time of the last registration. It is not stored at once: a crash may set it back by an hour, or to when
   * the disk failed.
   */
  readonly lastSeenAt: number
}

/**
 * A registered station. Avatar images stay in the database, because the images of thousands of stations would fill the
 * memory.
 */
export interface Station {
  readonly key: StationKey
  /** Stamp of the registration that created the station. The station gets no messages stored before it. */
  readonly registeredAt: number
  /** The devices in the order of their first registration; at least one. */
  readonly devices: readonly Device[]
  readonly avatar: Avatar
}

/**
 * Whether the sidecar remembers a device's cursors. Without an id, a stranger may have sent a cursor that is too new,
 * because passcodes are not secret. The device would then miss messages.
 */
export function remembersCursor(id: DeviceId): boolean {
  return id !== ''
}

/** Returns the station's device with the id `id`. */
export function deviceOf<Kind extends Device>(
  station: { readonly devices: readonly Kind[] } | undefined,
  id: DeviceId,
): Kind | undefined {
  return station?.devices.find((device) => device.id === id)
}

/**
 * Returns a key that identifies the device among all stations: `STATION` or `STATION ID`. Neither part contains a
 * blank.
 */
export function deviceKey(station: StationKey, id: DeviceId): string {
  return id === '' ? station : `${station} ${id}`
}

/** Splits a key of {@link deviceKey} into its parts. */
export function parseDeviceKey(key: string): readonly [station: StationKey, id: DeviceId] {
  const [station = '', id = ''] = key.split(' ')
  return [station, id]
}

/**
 * Whether the station wants a message acknowledged. An ack without a notification would mislead the sender. A copy for
 * another station's ring is never acknowledged.
 */
export function wantsAcks(
  station: Station | undefined,
  message: { readonly from: StationKey; readonly ring?: StationKey },
): boolean {
  if (message.ring !== undefined) return false
  const isAcknowledging = ({ ackMessages, tokenDead, options }: Device) =>
    ackMessages && !tokenDead && takes(options, message)
  return station?.devices.some(isAcknowledging) ?? false
}

/** Whether at least one device of the station wants acks. Acks to other stations are not stored. */
export function wantsReceivedAcks(station: Station | undefined): boolean {
  return station?.devices.some(({ options }) => options.wantAcks) ?? false
}

/** Whether a device of the station receives the messages addressed to any SSID of its callsign. */
export function wantsAnySsid(station: Station | undefined): boolean {
  return station?.devices.some(({ options }) => options.anySsid) ?? false
}
