import { type Avatar, type Device, deviceOf, type Station, type StationKey } from './station.ts'
import type { Registration } from './store.ts'

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

/** The station that it stands for; its devices are its own to change. */
export function stationFrom(record: StationRecord): Station & { readonly devices: readonly SeenDevice[] } {
  const { key, registeredAt, devices } = record
  return { key, registeredAt, devices: devices.map((device) => ({ ...device })), avatar: avatarOf(record) }
}

function avatarOf({ icon, hash, updatedAt }: StationRecord): Avatar {
  if (icon === null || hash === null || updatedAt === null) return { state: 'never' }
  return hash === '' ? { state: 'cleared', updatedAt } : { state: 'set', icon, hash, updatedAt }
}

/** Whether both are seen alike by others: an avatar that was cleared, or never set, is none. */
export function isSameAvatar(one: Avatar, other: Avatar | undefined): boolean {
  const hash = (avatar: Avatar | undefined) => (avatar?.state === 'set' ? avatar.hash : '')
  return hash(one) === hash(other)
}

/** Whether a registration says of the station and its device what is known already, but for its time. */
export function saysNothingNew(registration: Registration, station: Station): boolean {
  const { deviceId, platform, pushToken, ackMessages, avatar } = registration
  const device = deviceOf(station, deviceId)
  const sameAvatar =
    !avatar ||
    (avatar.icon === '' && avatar.image === ''
      ? station.avatar.state !== 'set'
      : station.avatar.state === 'set' && station.avatar.hash === avatar.hash)
  return (
    sameAvatar &&
    device?.tokenDead === false &&
    device.platform === platform &&
    device.pushToken === pushToken &&
    device.ackMessages === ackMessages
  )
}

const HOUR_MS = 3_600_000
const MONTH_HOURS = 30 * 24

/** After so many milliseconds without a call a device of a station that has as many as it may makes room for another one. */
export function makesRoomAfterMs(expireAfterHours: number): number {
  return Math.min(MONTH_HOURS, expireAfterHours) * HOUR_MS
}
