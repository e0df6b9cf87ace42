/** `CALL` or `CALL-SSID`, upper case, at most 9 characters. */
export type StationKey = string

/** Where a station's notifications go: FCM, APNs, or the push service of its own choice by Web Push (RFC 8030). */
export const PLATFORMS = ['android', 'ios', 'webpush'] as const
export type Platform = (typeof PLATFORMS)[number]
/** How many there are of each. */
export type ByPlatform = Readonly<Record<Platform, number>>

/**
 * What a station is known by.
 * - `never`: it never set an avatar;
 * - `cleared`: it had one and took it away at `updatedAt`;
 * - `set`: `hash` is the SHA-256 form when there is an image, else `icon:<name>`.
 */
export type Avatar =
  | { readonly state: 'never' }
  | { readonly state: 'cleared'; readonly updatedAt: number }
  | { readonly state: 'set'; readonly icon: string; readonly hash: string; readonly updatedAt: number }

/**
 * What an app calls its phone among those of its station: a secret between the two of us. Empty for the one that has no
 * name.
 */
export type DeviceId = string

/** How many devices a station may have. */
export const MAX_DEVICES = 8

/** After so many milliseconds a station that was never proven makes room for a new one in a full registry. */
export const UNPROVEN_MS = 3_600_000

/** A phone of a station. */
export interface Device {
  readonly id: DeviceId
  readonly platform: Platform
  readonly pushToken: string
  /**
   * The gateway said that the token is dead, or another device of the station has it by now; true until this one
   * registers a token again.
   */
  readonly tokenDead: boolean
  readonly ackMessages: boolean
  /**
   * Server time of its first registration: its cursor before it has brought one. It is told of nothing that was stored
   * before.
   */
  readonly registeredAt: number
  /**
   * Time of the last register call; kept up to date in place. When the call changed nothing else, a crash may set it
   * back by up to an hour, or to before the disk stopped taking anything.
   */
  readonly lastSeenAt: number
}

/** One registered station. Images stay in the database: with thousands of stations they would fill the memory. */
export interface Station {
  readonly key: StationKey
  /** Server time of the first registration; what was stored before it is no business of this station's. */
  readonly registeredAt: number
  /** At least one; in the order in which they came. */
  readonly devices: readonly Device[]
  readonly avatar: Avatar
}

/**
 * Whether the cursors that calls of the device bring are remembered for its later calls. Not for the device without an
 * id: anybody who computes the passcode can bring one in its name, and a newer cursor than its own would have its next
 * heartbeat skip messages.
 */
export function remembersCursor(id: DeviceId): boolean {
  return id !== ''
}

/** The station's device of that id. */
export function deviceOf<One extends Device>(
  station: { readonly devices: readonly One[] } | undefined,
  id: DeviceId,
): One | undefined {
  return station?.devices.find((device) => device.id === id)
}

/** What a device is kept by among those of all stations: `KEY`, or `KEY ID`, neither of which has a blank in it. */
export function deviceKey(station: StationKey, id: DeviceId): string {
  return id === '' ? station : `${station} ${id}`
}

/** Whose name it is. */
export function parseDeviceKey(name: string): readonly [station: StationKey, id: DeviceId] {
  const [station = '', id = ''] = name.split(' ')
  return [station, id]
}

/**
 * Whether the station's messages are acknowledged: to be told of phones that no push reaches would mislead the sender.
 */
export function wantsAcks(station: Station | undefined): boolean {
  return station?.devices.some(({ ackMessages, tokenDead }) => ackMessages && !tokenDead) ?? false
}
