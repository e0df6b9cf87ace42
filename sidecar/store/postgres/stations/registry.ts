import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { NO_OPTIONS } from '../../../messages/devices/device-options.ts'
import {
  changesNothing,
  replaceableAfterMs,
  type StationRecord,
  stationFrom,
} from '../../../messages/station-record.ts'
import type {
  AvatarRecord,
  DeviceFilter,
  DeviceId,
  RegisterOutcome,
  Registration,
  RemoveOutcome,
  Station,
  StationKey,
  Stations,
  StoreSettings,
} from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import type { Postgres } from '../database/connection.ts'
import { type SqlValue, withoutNul } from '../database/sql-values.ts'
import { CHANNEL, NEVER } from '../schema/schema-files.ts'
import { CopyRefresh } from './copy-refresh.ts'
import { openRegistryQueue, type RegistryQueue } from './registry-queue.ts'
import { StationCopy } from './station-copy.ts'

const FIND_STATION = readSql(new URL('./find-station.sql', import.meta.url))

const REGISTER = `
  SELECT kind, version, registered_at AS "registeredAt", written_at AS "writtenAt", now, icon, hash,
    updated_at AS "updatedAt", devices, displaced
  FROM register_stations($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ORDER BY i`

const REMOVE = 'SELECT remove_station($1, $2, $3) AS version'

const END_BY_TOKEN = 'SELECT outcome, version FROM end_by_token($1, $2)'

const PROVE = 'SELECT prove_stations($1)'

const MARK_TOKEN_DEAD = 'SELECT mark_token_dead($1, $2) AS version'

const AVATARS = `
  SELECT station, icon, image, hash FROM avatar WHERE station = ANY ($1) AND hash <> '' ORDER BY station`

type Versioned<Row> = Row & { readonly version: number }

type Registered = Versioned<
  Omit<StationRecord, 'key'> & {
    readonly kind: RegisterOutcome['kind']
    readonly writtenAt: number
    readonly now: number
    readonly displaced: StationKey | null
  }
>

interface RegistryParts {
  readonly postgres: Pick<Postgres, 'query' | 'read' | 'listen' | 'timeline'>
  readonly settings: Pick<StoreSettings, 'stations' | 'rateLimit'>
  readonly clock: Clock
  readonly log: Log
}

/** The interface of the station registry for other modules of the store. */
export interface Registry extends Stations {
  /** Stops following the changes of other instances. */
  close(): void
}

/** Opens the registry, and reads all stations into memory. */
export async function openRegistry(parts: RegistryParts): Promise<Registry> {
  const registry = new PostgresRegistry(parts)
  await registry.open()
  return registry
}

/**
 * The registry in the tables that all instances share, with a copy in memory.
 *
 * Reads use the copy, which {@link CopyRefresh} keeps up to date. Writes go through a queue, one statement at a time.
 * When a call resolves, the copy includes its change. A heartbeat that changes nothing else stays in the copy, and is
 * written once an hour.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class PostgresRegistry implements Registry {
  readonly #postgres: RegistryParts['postgres']
  readonly #settings: RegistryParts['settings']
  readonly #clock: Clock
  readonly #copy: StationCopy
  /** Stations that are known to be proven, with the stamp of their registration. */
  readonly #proven = new Map<StationKey, number>()
  readonly #refresh: CopyRefresh
  readonly #queue: RegistryQueue

  constructor({ postgres, settings, clock, log }: RegistryParts) {
    this.#postgres = postgres
    this.#settings = settings
    this.#clock = clock
    this.#copy = new StationCopy(log)
    this.#refresh = new CopyRefresh({ postgres, copy: this.#copy, proven: this.#proven, clock })
    this.#queue = openRegistryQueue({ registerAll: (registrations) => this.#registerAll(registrations), clock })
  }

  async open(): Promise<void> {
    await this.#refresh.load()
    this.#copy.onChange(() => this.#forgetProven())
    this.#postgres.listen(CHANNEL, this.#refresh.refresh)
    this.#refresh.refresh()
  }

  readonly get = (key: StationKey): Station | undefined => this.#copy.get(key)

  readonly find = async (key: StationKey): Promise<Station | undefined> => {
    const station = this.#copy.get(key)
    if (station) return station
    const [row] = await this.#postgres.read<Versioned<StationRecord>>(FIND_STATION, [key])
    if (!row) return undefined
    this.#copy.take([key, row], row.version)
    return this.#copy.get(key) ?? stationFrom(row)
  }

  get size(): number {
    return this.#copy.size
  }

  get avatarChanges(): number {
    return this.#copy.avatarChanges
  }

  readonly keys = (): IterableIterator<StationKey> => this.#copy.keys()
  readonly besides = (addressee: StationKey): readonly StationKey[] => this.#copy.besides(addressee)
  readonly anySsidKeys = (): readonly StationKey[] => this.#copy.anySsidKeys()
  readonly countStations: Stations['countStations'] = () => this.#copy.countStations()
  readonly countDevices: Stations['countDevices'] = () => this.#copy.countDevices()
  readonly onChange = (listener: () => void): void => this.#copy.onChange(listener)

  readonly register = async (registration: Registration): Promise<RegisterOutcome> => {
    try {
      return await this.#queue.register(registration)
    } catch (error) {
      if (error instanceof StoreError && error.code === 'store_closed') throw error
      // An unchanged heartbeat needs no write, so it succeeds even while the database refuses writes.
      const station = this.#touch(registration)
      if (station) return { kind: 'refreshed', station }
      throw error
    }
  }

  readonly prove = (key: StationKey): void => {
    const registeredAt = this.#copy.get(key)?.registeredAt
    if (registeredAt === undefined || this.#proven.get(key) === registeredAt) return
    this.#proven.set(key, registeredAt)
    // If this write fails, the next call of `prove` repeats it. Marking a station as proven is not urgent.
    this.#queue.write(() => this.#postgres.query(PROVE, [[key]])).catch(() => this.#proven.delete(key))
  }

  readonly remove = (key: StationKey, filter: DeviceFilter = {}): Promise<RemoveOutcome> =>
    this.#queue.write(() => {
      const { pushToken } = filter
      return pushToken === undefined ? this.#remove(key, filter) : this.#endByToken(key, pushToken)
    })

  readonly markTokenDead = (key: StationKey, _device: DeviceId, pushToken: string): Promise<void> =>
    this.#queue.write(async () => {
      const [marked] = await this.#postgres.query<{ version: number | null }>(MARK_TOKEN_DEAD, [key, pushToken])
      if ((marked?.version ?? null) !== null) await this.#refresh.follow()
    })

  readonly avatars = async (keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarRecord>> => {
    const rows = await this.#postgres.read<AvatarRecord & { readonly station: StationKey }>(AVATARS, [keys])
    return new Map(rows.map(({ station, icon, image, hash }) => [station, { icon, image, hash }]))
  }

  readonly close = (): void => this.#refresh.close()

  async #registerAll(registrations: readonly Registration[]): Promise<readonly RegisterOutcome[]> {
    const column = <T extends SqlValue>(value: (registration: Registration) => T) => registrations.map(value)
    const rows = await this.#postgres.query<Registered>(REGISTER, [
      column(({ key }) => key),
      column(({ deviceId }) => deviceId),
      column(({ platform }) => platform),
      column(({ pushToken }) => withoutNul(pushToken)),
      column(({ ackMessages }) => ackMessages),
      column(({ options = NO_OPTIONS }) => options.blocked.join(' ')),
      column(({ options = NO_OPTIONS }) => options.wantAcks),
      column(({ options = NO_OPTIONS }) => options.anySsid),
      column(({ avatar }) => (avatar ? withoutNul(avatar.icon) : null)),
      column(({ avatar }) => avatar?.image ?? null),
      column(({ avatar }) => avatar?.hash ?? null),
      column(({ client }) => client),
      this.#settings.stations.max,
      this.#settings.rateLimit.newStationsPerHour,
      replaceableAfterMs(this.#settings.stations.expireAfterHours),
    ])
    return registrations.flatMap((registration, index) => {
      const row = rows[index]
      return row ? [this.#outcomeOf(registration, row)] : []
    })
  }

  /** Returns the outcome of a registration, and updates the copy of the registry. */
  #outcomeOf({ key, deviceId }: Registration, row: Registered): RegisterOutcome {
    const { kind, version, registeredAt, devices, writtenAt, now, icon, hash, updatedAt, displaced } = row
    if (kind === 'full' || kind === 'devices_full' || kind === 'limited') return { kind }
    const seenAt = (lastSeenAt: number): StationRecord => {
      const touched = devices.map((device) => (device.id === deviceId ? { ...device, lastSeenAt } : device))
      return { key, registeredAt, devices: touched, icon, hash, updatedAt }
    }
    this.#copy.take([key, seenAt(writtenAt)], version)
    this.#copy.touch(key, deviceId, now)
    const station = stationFrom(seenAt(now))
    if (kind !== 'created') {
      this.#proven.set(key, registeredAt)
      return { kind, station }
    }
    if (displaced === null) return { kind, station }
    this.#copy.take([displaced, undefined], version)
    return { kind, station, displaced }
  }

  async #remove(key: StationKey, { deviceId, seenBeforeMs = NEVER }: DeviceFilter): Promise<RemoveOutcome> {
    const meant = deviceId === undefined ? null : [deviceId]
    // Recent heartbeats may be only in memory. So a device is removed only if both memory and database show that it is
    // silent.
    const station = seenBeforeMs === NEVER ? undefined : this.#copy.get(key)
    const silent = station?.devices.filter(({ id, lastSeenAt }) => (deviceId ?? id) === id && lastSeenAt < seenBeforeMs)
    const values = [key, seenBeforeMs, silent?.map(({ id }) => id) ?? meant]
    const [removed] = await this.#postgres.query<{ version: number | null }>(REMOVE, values)
    if ((removed?.version ?? null) === null) return 'none'
    return this.#outcomeOfRemoval(key)
  }

  async #endByToken(key: StationKey, pushToken: string): Promise<RemoveOutcome> {
    const [ended] = await this.#postgres.query<{ outcome: 'none' | 'wrong_token' | 'silenced' | 'removed' }>(
      END_BY_TOKEN,
      [key, withoutNul(pushToken)],
    )
    const outcome = ended?.outcome ?? 'none'
    if (outcome === 'none' || outcome === 'wrong_token') return outcome
    const removal = await this.#outcomeOfRemoval(key)
    return outcome === 'silenced' ? outcome : removal
  }

  /**
   * Returns `station` if a removed device was the last of its station, otherwise `devices`. Reads the latest changes
   * first.
   */
  async #outcomeOfRemoval(key: StationKey): Promise<'devices' | 'station'> {
    await this.#refresh.follow()
    return this.#copy.get(key) ? 'devices' : 'station'
  }

  #forgetProven(): void {
    for (const key of this.#proven.keys()) if (!this.#copy.get(key)) this.#proven.delete(key)
  }

  /** Records the time of a heartbeat in memory. Returns undefined if the registration changes anything else. */
  #touch(registration: Registration): Station | undefined {
    const station = this.#copy.get(registration.key)
    if (!station || !changesNothing(registration, station)) return undefined
    this.#copy.touch(registration.key, registration.deviceId, this.#clock.now())
    return station
  }
}
