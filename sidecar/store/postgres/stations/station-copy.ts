import type { Log } from '../../../log.ts'
import {
  createPlatformCounts,
  isSameAvatar,
  type SeenStation,
  type StationRecord,
  stationFrom,
} from '../../../messages/station-record.ts'
import type { Device, DeviceId, StationKey, Stations } from '../../../messages/store.ts'

interface Entry {
  /** Changed in place by heartbeats: they come all the time. */
  readonly station: SeenStation
  /** As the database has them: the `lastSeenAt` of one may be up to an hour behind there. */
  readonly inDatabase: readonly Device[]
  /** The stamp of what the entry shows. */
  readonly version: number
}

/** What was read of a station after a change; undefined when it is not registered. */
export type Change = readonly [key: StationKey, record: StationRecord | undefined]

/** The registry as this instance knows it. Answers that arrive late never take back what newer ones said. */
export interface StationCopy
  extends Pick<Stations, 'get' | 'size' | 'keys' | 'countStations' | 'countDevices' | 'avatarChanges' | 'onChange'> {
  /** Everything up to this stamp is in it. */
  readonly seen: number
  /** Takes over what was true of one station at `version`. */
  take(change: Change, version: number): void
  /** Takes over all that has changed since {@link seen}, as of `version`. */
  follow(changes: readonly Change[], version: number): void
  /** Takes over everything anew, whatever it knows: what was read of all stations, no earlier than at `version`. */
  replace(records: readonly StationRecord[], version: number): void
  /** The station's device was there at `now`. */
  touch(key: StationKey, device: DeviceId, now: number): void
}

export function createStationCopy(log: Log): StationCopy {
  const entries = new Map<StationKey, Entry>()
  const listeners: (() => void)[] = []
  const counts = createPlatformCounts()
  let avatarChanges = 0
  let seen = 0

  /** Says whether the station has come, or gone. */
  function put([key, record]: Change, version: number): boolean {
    const before = entries.get(key)
    if (before && before.version > version) return false
    const station = record && stationFrom(record)
    for (const device of station?.devices ?? []) {
      const same = ({ id }: Device) => id === device.id
      // Of heartbeats that changed nothing memory knows more, unless another instance has written one since.
      if (before?.inDatabase.find(same)?.lastSeenAt === device.lastSeenAt)
        device.lastSeenAt = before.station.devices.find(same)?.lastSeenAt ?? device.lastSeenAt
    }
    counts.change(before?.station, station)
    if (station && record) entries.set(key, { station, inDatabase: record.devices, version })
    else entries.delete(key)
    if (!isSameAvatar(station?.avatar ?? { state: 'never' }, before?.station.avatar)) avatarChanges += 1
    return (before === undefined) !== (station === undefined)
  }

  function putAll(changes: readonly Change[], version: number): void {
    let moved = false
    for (const change of changes) moved = put(change, version) || moved
    if (moved) changed()
  }

  function changed(): void {
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        log.error('station-listener-failed', 'A listener to changes of the registry failed.', { error })
      }
    }
  }

  return {
    get: (key) => entries.get(key)?.station,
    get size() {
      return entries.size
    },
    keys: () => entries.keys(),
    countStations: counts.stations,
    countDevices: counts.devices,
    get avatarChanges() {
      return avatarChanges
    },
    onChange(listener) {
      listeners.push(listener)
    },
    get seen() {
      return seen
    },
    take(change, version) {
      // What was read up to there shows it, and what came after it.
      if (version > seen) putAll([change], version)
    },
    follow(changes, version) {
      seen = version
      putAll(changes, version)
    },
    replace(records, version) {
      const there = new Set(records.map(({ key }) => key))
      const gone = [...entries.keys()].filter((key) => !there.has(key))
      seen = version
      for (const [key, entry] of entries) entries.set(key, { ...entry, version: Math.min(entry.version, version) })
      putAll([...gone.map((key): Change => [key, undefined]), ...records.map((one): Change => [one.key, one])], version)
    },
    touch(key, id, now) {
      for (const device of entries.get(key)?.station.devices ?? []) if (device.id === id) device.lastSeenAt = now
    },
  }
}
