import type { Avatar, Platform, Station, StationKey } from './station.ts'
import type { Registration } from './store.ts'

/** A station as a database has it, with what its avatar is but for the image; null where it never had one. */
export interface StationRecord {
  readonly key: StationKey
  readonly platform: Platform
  readonly pushToken: string
  readonly tokenDead: boolean
  readonly ackMessages: boolean
  readonly registeredAt: number
  readonly lastSeenAt: number
  readonly icon: string | null
  readonly hash: string | null
  readonly updatedAt: number | null
}

/** The station that it stands for; its own to change. */
export function stationFrom(record: StationRecord): Station & { lastSeenAt: number } {
  const { key, platform, pushToken, tokenDead, ackMessages, registeredAt, lastSeenAt } = record
  return { key, platform, pushToken, tokenDead, ackMessages, registeredAt, lastSeenAt, avatar: avatarOf(record) }
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

/** Whether a registration says of the station what is known already, but for its time. */
export function saysNothingNew({ platform, pushToken, ackMessages, avatar }: Registration, station: Station): boolean {
  const sameAvatar =
    !avatar ||
    (avatar.icon === '' && avatar.image === ''
      ? station.avatar.state !== 'set'
      : station.avatar.state === 'set' && station.avatar.hash === avatar.hash)
  return (
    sameAvatar &&
    !station.tokenDead &&
    station.platform === platform &&
    station.pushToken === pushToken &&
    station.ackMessages === ackMessages
  )
}
