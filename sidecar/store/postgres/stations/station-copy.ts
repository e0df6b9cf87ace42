import type { Log } from '../../../log.ts'
import { AnySsidStations } from '../../../messages/devices/any-ssid-stations.ts'
import { wantsAnySsid } from '../../../messages/station.ts'
import {
  createPlatformCounts,
  isSameAvatar,
  type SeenStation,
  type StationRecord,
  stationFrom,
} from '../../../messages/station-record.ts'
import type { Device, DeviceId, StationKey } from '../../../messages/store.ts'

interface Entry {
  /** The station as callers see it. Heartbeats change its devices in place, because they are frequent. */
  readonly station: SeenStation
  /** The devices as last read from the database. Their `lastSeenAt` may be up to an hour old. */
  readonly inDatabase: readonly Device[]
  /** The stamp of the database at which the entry was read. */
  readonly version: number
}

/** A station as it was read after a change; undefined if it is not registered. */
export type Change = readonly [key: StationKey, record: StationRecord | undefined]

/**
 * A copy of the registry in the memory of this instance.
 *
 * The copy has all changes up to the stamp {@link seen}. Each entry has the stamp of its snapshot. So a late answer
 * never undoes a newer one: {@link take} ignores a change up to `seen`, or older than its entry. {@link follow} moves
 * `seen` forward. Only {@link replace} may move it back, after the database itself went back.
 */
export class StationCopy {
  readonly #entries = new Map<StationKey, Entry>()
  readonly #listeners: (() => void)[] = []
  readonly #counts = createPlatformCounts()
  readonly #anySsid = new AnySsidStations()
  readonly #log: Log
  #avatarChanges = 0
  #seen = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** The stamp up to which this copy of the registry includes all changes. */
  get seen(): number {
    return this.#seen
  }

  get size(): number {
    return this.#entries.size
  }

  get avatarChanges(): number {
    return this.#avatarChanges
  }

  get(key: StationKey): SeenStation | undefined {
    return this.#entries.get(key)?.station
  }

  keys(): IterableIterator<StationKey> {
    return this.#entries.keys()
  }

  besides(addressee: StationKey): readonly StationKey[] {
    return this.#anySsid.besides(addressee)
  }

  anySsidKeys(): readonly StationKey[] {
    return this.#anySsid.keys()
  }

  countStations() {
    return this.#counts.stations()
  }

  countDevices() {
    return this.#counts.devices()
  }

  /** Calls `listener` whenever a station was added or removed, or {@link anySsidKeys} changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Sets the state of one station as of stamp `version`, unless the copy includes newer changes. */
  take(change: Change, version: number): void {
    // If `version` is not above `seen`, the copy already includes this change, or a later change of the same station.
    if (version > this.#seen) this.#putAll([change], version)
  }

  /** Applies all changes after {@link seen}, up to stamp `version`. */
  follow(changes: readonly Change[], version: number): void {
    this.#seen = version
    this.#putAll(changes, version)
  }

  /** Replaces the copy by `records`: all stations, as read at stamp `version` or later. */
  replace(records: readonly StationRecord[], version: number): void {
    const registered = new Set(records.map(({ key }) => key))
    const removed = [...this.#entries.keys()].filter((key) => !registered.has(key))
    const changes: Change[] = removed.map((key) => [key, undefined])
    for (const record of records) changes.push([record.key, record])
    this.#seen = version
    for (const [key, entry] of this.#entries)
      this.#entries.set(key, { ...entry, version: Math.min(entry.version, version) })
    this.#putAll(changes, version)
  }

  /** Records that the device was seen at `now`. */
  touch(key: StationKey, id: DeviceId, now: number): void {
    for (const device of this.get(key)?.devices ?? []) if (device.id === id) device.lastSeenAt = now
  }

  #putAll(changes: readonly Change[], version: number): void {
    let isMoved = false
    for (const change of changes) isMoved = this.#put(change, version) || isMoved
    if (isMoved) this.#notify()
  }

  /** Returns whether the change added or removed the station, or changed {@link anySsidKeys}. */
  #put([key, record]: Change, version: number): boolean {
    const former = this.#entries.get(key)
    if (former && former.version > version) return false
    const station = record && stationFrom(record)
    for (const device of station?.devices ?? []) {
      const isSame = ({ id }: Device) => id === device.id
      // If the time in the database is unchanged, the copy may have a later heartbeat that was not written. That time
      // is kept.
      if (former?.inDatabase.find(isSame)?.lastSeenAt === device.lastSeenAt)
        device.lastSeenAt = former.station.devices.find(isSame)?.lastSeenAt ?? device.lastSeenAt
    }
    this.#counts.change(former?.station, station)
    if (station && record) this.#entries.set(key, { station, inDatabase: record.devices, version })
    else this.#entries.delete(key)
    if (!isSameAvatar(station?.avatar ?? { state: 'never' }, former?.station.avatar)) this.#avatarChanges += 1
    const hasAnySsidChanged = this.#anySsid.set(key, wantsAnySsid(station))
    return hasAnySsidChanged || (former === undefined) !== (station === undefined)
  }

  #notify(): void {
    for (const listener of this.#listeners) {
      try {
        listener()
      } catch (error) {
        this.#log.error(
          'station-listener-failed',
          'A listener for changes of the registered stations failed. Please report this as a bug, with the error.',
          { error },
        )
      }
    }
  }
}
