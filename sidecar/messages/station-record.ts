import { isSameOptions, NO_OPTIONS } from './devices/device-options.ts'
import {
  type Avatar,
  type ByPlatform,
  type Device,
  deviceOf,
  type Platform,
  type Station,
  type StationKey,
} from './station.ts'
import type { AvatarUpload, Registration } from './store.ts'

/**
 * A station as a database row, with its avatar but not the image. If it never set an avatar, `icon`, `hash` and
 * `updatedAt` are null.
 */
export interface StationRecord {
  readonly key: StationKey
  readonly registeredAt: number
  readonly devices: readonly Device[]
  readonly icon: string | null
  readonly hash: string | null
  readonly updatedAt: number | null
}

/** A device with a writable {@link Device.lastSeenAt}, because each registration updates it in place. */
export type SeenDevice = Device & { lastSeenAt: number }

/** A station with devices that each registration updates in place. */
export interface SeenStation extends Station {
  readonly devices: readonly SeenDevice[]
}

/** Builds a station from a record. It copies the devices, so that the caller may change them. */
export function stationFrom(record: StationRecord): SeenStation {
  const { key, registeredAt, devices } = record
  return { key, registeredAt, devices: devices.map((device) => ({ ...device })), avatar: avatarOf(record) }
}

function avatarOf({ icon, hash, updatedAt }: StationRecord): Avatar {
  if (icon === null || hash === null || updatedAt === null) return { state: 'never' }
  return hash === '' ? { state: 'cleared', updatedAt } : { state: 'set', icon, hash, updatedAt }
}

/** Whether two avatars look the same to other stations. A cleared avatar looks like no avatar. */
export function isSameAvatar(first: Avatar | undefined, second: Avatar | undefined): boolean {
  const hash = (avatar: Avatar | undefined) => (avatar?.state === 'set' ? avatar.hash : '')
  return hash(first) === hash(second)
}

/** Returns the avatar of a station after an upload with the stamp `updatedAt`; `current` itself if nothing changes. */
export function avatarAfter(current: Avatar, uploaded: AvatarUpload | undefined, updatedAt: number): Avatar {
  if (!uploaded) return current
  const { icon, image, hash } = uploaded
  if (icon === '' && image === '') return current.state === 'set' ? { state: 'cleared', updatedAt } : current
  return current.state === 'set' && current.hash === hash ? current : { state: 'set', icon, hash, updatedAt }
}

/** Whether a registration changes nothing except its device's {@link Device.lastSeenAt}. */
export function changesNothing(registration: Registration, station: Station): boolean {
  const { deviceId, platform, pushToken, ackMessages, options = NO_OPTIONS, avatar } = registration
  const device = deviceOf(station, deviceId)
  return (
    avatarAfter(station.avatar, avatar, 0) === station.avatar &&
    device?.tokenDead === false &&
    device.platform === platform &&
    device.pushToken === pushToken &&
    device.ackMessages === ackMessages &&
    isSameOptions(device.options, options)
  )
}

const HOUR_MS = 3_600_000
const MONTH_HOURS = 30 * 24

/**
 * Returns the age of a device's last registration, in milliseconds, above which a new device may replace it if there is
 * no room.
 */
export function replaceableAfterMs(expireAfterHours: number): number {
  return Math.min(MONTH_HOURS, expireAfterHours) * HOUR_MS
}

/** Counts of stations and devices by platform. They are updated with each change, so reading them needs no scan. */
export interface PlatformCounts {
  /**
   * Updates the counts after a change of a station. `former` is undefined for an added station, `current` for a removed
   * one.
   */
  change(former: Station | undefined, current: Station | undefined): void
  stations(): ByPlatform
  devices(): ByPlatform
}

export function createPlatformCounts(): PlatformCounts {
  const stations: Record<Platform, number> = { android: 0, ios: 0, webpush: 0 }
  const devices = { ...stations }

  function count(station: Station | undefined, change: 1 | -1): void {
    for (const [index, { platform }] of station?.devices.entries() ?? []) {
      devices[platform] += change
      if (index === 0) stations[platform] += change
    }
  }

  return {
    change(former, current) {
      count(former, -1)
      count(current, 1)
    },
    stations: () => ({ ...stations }),
    devices: () => ({ ...devices }),
  }
}
