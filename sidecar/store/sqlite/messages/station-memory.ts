import type { Log } from '../../../log.ts'
import { AnySsidStations } from '../../../messages/devices/any-ssid-stations.ts'
import { type ByPlatform, deviceOf, wantsAnySsid } from '../../../messages/station.ts'
import {
  changesNothing,
  createPlatformCounts,
  isSameAvatar,
  type SeenDevice,
  type SeenStation,
} from '../../../messages/station-record.ts'
import type { Device, Registration, Station, StationKey } from '../../../messages/store.ts'
import type { Transaction } from '../database/database.ts'

/**
 * A copy of the registry in memory.
 *
 * `get` returns committed data. A transaction records its changes with {@link change} and reads them with
 * {@link current}. A commit publishes them; a rollback discards them. So the copy is never newer than the file, except
 * for heartbeats, which {@link touch} updates in place.
 */
export class StationMemory {
  readonly #stations = new Map<StationKey, SeenStation>()
  /** Changes of the transaction in progress, by station; undefined for a station that it removed. */
  readonly #uncommitted = new Map<StationKey, SeenStation | undefined>()
  /** The `lastSeenAt` that the file has for each device. It may be up to an hour old. */
  readonly #lastSeenInFile = new WeakMap<Device, number>()
  /** Stations that the file does not mark as proven; see `Stations.prove`. */
  readonly #unproven: Set<StationKey>
  readonly #counts = createPlatformCounts()
  readonly #anySsid = new AnySsidStations()
  readonly #listeners: (() => void)[] = []
  readonly #log: Log
  #avatarChanges = 0

  constructor(stations: readonly SeenStation[], unproven: Iterable<StationKey>, log: Log) {
    this.#log = log
    this.#unproven = new Set(unproven)
    for (const station of stations) {
      for (const device of station.devices) this.#lastSeenInFile.set(device, device.lastSeenAt)
      this.#remember(station.key, station)
    }
  }

  get size(): number {
    return this.#stations.size
  }

  /** Increases with each change of an avatar. */
  get avatarChanges(): number {
    return this.#avatarChanges
  }

  get(key: StationKey): SeenStation | undefined {
    return this.#stations.get(key)
  }

  /** Returns the station, including uncommitted changes of the transaction in progress. */
  current(key: StationKey): SeenStation | undefined {
    return this.#uncommitted.has(key) ? this.#uncommitted.get(key) : this.#stations.get(key)
  }

  keys(): IterableIterator<StationKey> {
    return this.#stations.keys()
  }

  besides(addressee: StationKey): readonly StationKey[] {
    return this.#anySsid.besides(addressee)
  }

  anySsidKeys(): readonly StationKey[] {
    return this.#anySsid.keys()
  }

  countStations(): ByPlatform {
    return this.#counts.stations()
  }

  countDevices(): ByPlatform {
    return this.#counts.devices()
  }

  /** Calls `listener` after a station was added or removed, or {@link anySsidKeys} changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Records that `tx` changes the station. If `station` is undefined, records that `tx` removes the station. */
  change(tx: Transaction, key: StationKey, station: SeenStation | undefined): void {
    this.#uncommitted.set(key, station)
    tx.onCommit(() => {
      this.#uncommitted.clear()
      this.#remember(key, station)
    })
    tx.onRollback(() => this.#uncommitted.clear())
  }

  isUnproven(key: StationKey): boolean {
    return this.#unproven.has(key)
  }

  /** Records whether the station is proven. Takes effect when `tx` commits. */
  setProven(tx: Transaction, key: StationKey, isProven: boolean): void {
    tx.onCommit(() => {
      if (isProven) this.#unproven.delete(key)
      else this.#unproven.add(key)
    })
  }

  /** Returns the time at which the device was last seen, according to the file. */
  lastSeenInFile(device: Device): number {
    return this.#lastSeenInFile.get(device) ?? 0
  }

  /** Records the `lastSeenAt` that the file has for the device. */
  setLastSeenInFile(device: SeenDevice, time: number): void {
    this.#lastSeenInFile.set(device, time)
  }

  /**
   * Records a heartbeat in memory and returns the station. Returns undefined if the registration changes anything else.
   */
  touch(registration: Registration, now: number): Station | undefined {
    const station = this.#stations.get(registration.key)
    if (!station || !changesNothing(registration, station)) return undefined
    const device = deviceOf(station, registration.deviceId)
    if (device) device.lastSeenAt = now
    return station
  }

  #remember(key: StationKey, station: SeenStation | undefined): void {
    const former = this.#stations.get(key)
    if (!isSameAvatar(station?.avatar, former?.avatar)) this.#avatarChanges += 1
    this.#counts.change(former, station)
    const hasAnySsidChanged = this.#anySsid.set(key, wantsAnySsid(station))
    if (station) this.#stations.set(key, station)
    else {
      this.#stations.delete(key)
      this.#unproven.delete(key)
    }
    if (hasAnySsidChanged || (former === undefined) !== (station === undefined)) this.#notify()
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
