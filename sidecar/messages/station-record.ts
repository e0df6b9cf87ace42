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

/** A station as a database has it, with what its avatar is but for the image; null where it never had one. */
export interface StationRecord {
  readonly key: StationKey
  readonly registeredAt: number
  readonly devices: readonly Device[]
  readonly icon: string | null
  readonly hash: string | null
  readonly updatedAt: number | null
}

/** A device whose {@link Device.lastSeenAt} is kept up to date in place. */
export type SeenDevice = Device & { lastSeenAt: number }

/** A station whose devices' heartbeats are noted. */
export interface SeenStation extends Station {
  readonly devices: readonly SeenDevice[]
}

/** The station that it stands for; its devices are its own to change. */
export function stationFrom(record: StationRecord): SeenStation {
  const { key, registeredAt, devices } = record
  return { key, registeredAt, devices: devices.map((device) => ({ ...device })), avatar: avatarOf(record) }
}

function avatarOf({ icon, hash, updatedAt }: StationRecord): Avatar {
  if (icon === null || hash === null || updatedAt === null) return { state: 'never' }
  return hash === '' ? { state: 'cleared', updatedAt } : { state: 'set', icon, hash, updatedAt }
}

/** Whether both are seen alike by others: an avatar that was cleared, or never set, is none. */
export function isSameAvatar(one: Avatar | undefined, other: Avatar | undefined): boolean {
  const hash = (avatar: Avatar | undefined) => (avatar?.state === 'set' ? avatar.hash : '')
  return hash(one) === hash(other)
}

/**
 * What an avatar is once `uploaded` is stored at the stamp `updatedAt`, if anything was uploaded. The same again keeps
 * its time, and who never set one has nothing to clear: then it is `before` itself.
 */
export function avatarAfter(before: Avatar, uploaded: AvatarUpload | undefined, updatedAt: number): Avatar {
  if (!uploaded) return before
  const { icon, image, hash } = uploaded
  if (icon === '' && image === '') return before.state === 'set' ? { state: 'cleared', updatedAt } : before
  return before.state === 'set' && before.hash === hash ? before : { state: 'set', icon, hash, updatedAt }
}

/** Whether a registration says of the station and its device what is known already, but for its time. */
export function changesNothing(registration: Registration, station: Station): boolean {
  const { deviceId, platform, pushToken, ackMessages, avatar } = registration
  const device = deviceOf(station, deviceId)
  return (
    avatarAfter(station.avatar, avatar, 0) === station.avatar &&
    device?.tokenDead === false &&
    device.platform === platform &&
    device.pushToken === pushToken &&
    device.ackMessages === ackMessages
  )
}

const HOUR_MS = 3_600_000
const MONTH_HOURS = 30 * 24

/**
 * After so many milliseconds without a call a device of a station that has as many as it may makes room for another
 * one.
 */
export function replaceableAfterMs(expireAfterHours: number): number {
  return Math.min(MONTH_HOURS, expireAfterHours) * HOUR_MS
}

/**
 * What a registry counts as its stations change, so that nobody has to go through all of them who asks for the numbers.
 */
export interface PlatformCounts {
  /** A station is another one, or there no more, or there for the first time. */
  change(before: Station | undefined, after: Station | undefined): void
  stations(): ByPlatform
  devices(): ByPlatform
}

export function createPlatformCounts(): PlatformCounts {
  const stations: Record<Platform, number> = { android: 0, ios: 0, webpush: 0 }
  const devices = { ...stations }

  function count(station: Station | undefined, by: 1 | -1): void {
    for (const [index, { platform }] of station?.devices.entries() ?? []) {
      devices[platform] += by
      if (index === 0) stations[platform] += by
    }
  }

  return {
    change(before, after) {
      count(before, -1)
      count(after, 1)
    },
    stations: () => ({ ...stations }),
    devices: () => ({ ...devices }),
  }
}
