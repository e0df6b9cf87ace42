import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { createRateLimit, type RateLimit } from '../../../messages/rate-limit.ts'
import { deviceOf } from '../../../messages/station.ts'
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
import type { Queries } from '../database/connection.ts'
import type { Database, Write } from '../database/database.ts'
import { tokenDeathWrite } from './dead-tokens.ts'
import { loadStations } from './load-stations.ts'
import { Registrations } from './registrations.ts'
import { type Removal, removalWrite } from './removals.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'
import { StationMemory } from './station-memory.ts'

// Interval at which the time of an unchanged heartbeat is written. An hour is exact enough, because stations expire
// after days.
const LAST_SEEN_WRITE_MS = 3_600_000
const HOUR_MS = 3_600_000

const UNPROVEN = 'SELECT key FROM station WHERE proven = 0'

const AVATARS = `
  SELECT station, icon, image, hash FROM avatar
  WHERE station IN (SELECT value FROM json_each(?)) AND hash <> ''`

// Number of avatars per read: at most 120 KB, read in half a millisecond. A message that arrives meanwhile waits for
// one read.
const AVATARS_PER_READ = 5

interface AvatarRow extends AvatarRecord {
  readonly station: StationKey
}

interface StationsOptions {
  readonly rings: Pick<RingIndex, 'discard'>
  readonly settings: Pick<StoreSettings, 'stations' | 'rateLimit'>
  readonly clock: Clock
  readonly log: Log
}

/** The interface of the station registry for other modules of the store. */
export interface StationTable extends Stations {
  /**
   * Returns the stamp of the station's registration; undefined if the station is not registered. Includes the
   * transaction in progress.
   */
  registeredAt(key: StationKey): number | undefined
}

/** Opens the registry, and reads all stations into memory. */
export async function openStations(
  queries: Queries,
  database: Database,
  stamps: StampSequence,
  { rings, settings, clock, log }: StationsOptions,
): Promise<StationTable> {
  const unproven = await queries.all<{ key: StationKey }>(UNPROVEN)
  const memory = new StationMemory(
    await loadStations(queries),
    unproven.map(({ key }) => key),
    log,
  )
  return new SqliteStations({ database, memory, stamps, rings, settings, clock })
}

interface SqliteStationsParts extends Omit<StationsOptions, 'log'> {
  readonly database: Database
  readonly memory: StationMemory
  readonly stamps: StampSequence
}

/**
 * The registry in a file that only this process uses.
 *
 * Reads use {@link StationMemory}. Writes go through the database's queue and then change memory. A heartbeat that
 * changes nothing else is written once an hour. While a write for its station is queued, it is queued too, because that
 * write is about to change memory.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class SqliteStations implements StationTable {
  readonly #database: Database
  readonly #memory: StationMemory
  readonly #clock: Clock
  /** The number of queued writes, by station. */
  readonly #queued = new Map<StationKey, number>()
  readonly #newStations: RateLimit
  readonly #registrations: Registrations
  readonly #removal: Write<Removal, RemoveOutcome>
  readonly #tokenDeath: Write<Pick<Registration, 'key' | 'deviceId' | 'pushToken'>, void>

  constructor({ database, memory, stamps, rings, settings, clock }: SqliteStationsParts) {
    this.#database = database
    this.#memory = memory
    this.#clock = clock
    this.#newStations = createRateLimit({ windowMs: HOUR_MS, max: settings.rateLimit.newStationsPerHour })
    this.#registrations = new Registrations({ memory, stamps, rings, settings, clock })
    this.#removal = removalWrite(memory, rings)
    this.#tokenDeath = tokenDeathWrite(memory)
  }

  get size(): number {
    return this.#memory.size
  }

  get avatarChanges(): number {
    return this.#memory.avatarChanges
  }

  readonly get = (key: StationKey): Station | undefined => this.#memory.get(key)
  readonly find = async (key: StationKey): Promise<Station | undefined> => this.#memory.get(key)
  readonly registeredAt = (key: StationKey): number | undefined => this.#memory.current(key)?.registeredAt
  readonly keys = (): IterableIterator<StationKey> => this.#memory.keys()
  readonly besides = (addressee: StationKey): readonly StationKey[] => this.#memory.besides(addressee)
  readonly anySsidKeys = (): readonly StationKey[] => this.#memory.anySsidKeys()
  readonly countStations: Stations['countStations'] = () => this.#memory.countStations()
  readonly countDevices: Stations['countDevices'] = () => this.#memory.countDevices()
  readonly onChange = (listener: () => void): void => this.#memory.onChange(listener)

  readonly register = async (registration: Registration): Promise<RegisterOutcome> => {
    this.#database.assertOpen()
    const station = this.#refreshInMemory(registration)
    if (station) return { kind: 'refreshed', station }
    const { key, deviceId, client } = registration
    const isNew = !deviceOf(this.#memory.get(key), deviceId)
    if (isNew && !this.#newStations.take(client, this.#clock.elapsed())) return { kind: 'limited' }
    try {
      return await this.#write(this.#registrations.register, registration)
    } catch (error) {
      // An unchanged heartbeat needs no write, so it succeeds even while the disk is full.
      const unchanged = this.#memory.touch(registration, this.#clock.now())
      if (unchanged) return { kind: 'refreshed', station: unchanged }
      throw error
    }
  }

  readonly remove = (key: StationKey, filter: DeviceFilter = {}): Promise<RemoveOutcome> =>
    this.#write(this.#removal, { key, ...filter })

  readonly prove = (key: StationKey): void => {
    // If this write fails, the next call of `prove` repeats it. Marking a station as proven is not urgent.
    if (this.#memory.isUnproven(key) && !this.#queued.has(key))
      this.#write(this.#registrations.prove, { key }).catch(() => undefined)
  }

  readonly markTokenDead = (key: StationKey, deviceId: DeviceId, pushToken: string): Promise<void> =>
    this.#write(this.#tokenDeath, { key, deviceId, pushToken })

  readonly avatars = async (keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarRecord>> => {
    const avatars = new Map<StationKey, AvatarRecord>()
    // Queries the file even if `keys` is empty, because `/healthz` calls this method to check that the file is
    // readable.
    for (let first = 0; first === 0 || first < keys.length; first += AVATARS_PER_READ) {
      const slice = JSON.stringify(keys.slice(first, first + AVATARS_PER_READ))
      const rows = await this.#database.readBehind((reading) => reading.all<AvatarRow>(AVATARS, slice))
      for (const { station, icon, image, hash } of rows) avatars.set(station, { icon, image, hash })
    }
    return avatars
  }

  async #write<In extends { readonly key: StationKey }, Out>(kind: Write<In, Out>, input: In): Promise<Out> {
    const { key } = input
    this.#queued.set(key, (this.#queued.get(key) ?? 0) + 1)
    try {
      return await this.#database.write(kind, input)
    } finally {
      const queued = (this.#queued.get(key) ?? 1) - 1
      if (queued > 0) this.#queued.set(key, queued)
      else this.#queued.delete(key)
    }
  }

  /** Records the heartbeat of an unchanged device in memory only. Returns undefined if the heartbeat needs a write. */
  #refreshInMemory(registration: Registration): Station | undefined {
    const { key, deviceId } = registration
    const device = deviceOf(this.#memory.get(key), deviceId)
    if (!device || this.#queued.has(key) || this.#memory.isUnproven(key)) return undefined
    // Compares the absolute difference of the times. Otherwise, a `lastSeenAt` that was written while the clock was
    // ahead would stay in the file too long.
    const now = this.#clock.now()
    if (Math.abs(now - this.#memory.lastSeenInFile(device)) > LAST_SEEN_WRITE_MS) return undefined
    return this.#memory.touch(registration, now)
  }
}
