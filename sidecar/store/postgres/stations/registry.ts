import type { Clock, Timer } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import {
  changesNothing,
  replaceableAfterMs,
  type StationRecord,
  stationFrom,
} from '../../../messages/station-record.ts'
import type {
  AvatarRecord,
  RegisterOutcome,
  Registration,
  RemoveOutcome,
  Station,
  StationKey,
  Stations,
  StoreSettings,
} from '../../../messages/store.ts'
import type { Postgres, SqlValue } from '../database/connection.ts'
import { withoutNul } from '../database/without-nul.ts'
import { CHANNEL, DEVICES } from '../schema/registry-functions.ts'
import { openRegistryQueue } from './registry-queue.ts'
import { type Change, createStationCopy } from './station-copy.ts'

/** The net below notifications. */
const LOOK_EVERY_MS = 1000
const PAGE = 5000

const RECORD = `
  station.key, station.registered_at AS "registeredAt", coalesce(${DEVICES}, '[]') AS devices,
  avatar.icon, avatar.hash, avatar.updated_at AS "updatedAt"`

const LAST = 'SELECT last AS version FROM clock'

const LOAD = `
  SELECT ${RECORD} FROM station LEFT JOIN avatar ON avatar.station = station.key
  WHERE station.key > $1 ORDER BY station.key LIMIT ${PAGE}`

// One row without a change says that there is none. Each station is looked up by its key (LATERAL, LIMIT): a plan that
// is made for any number of changes reads all stations, which took 30 ms for each notification.
const CHANGES = `
  SELECT clock.last AS version, clock.changes_since AS "changesSince", changed.key AS changed, record.*
  FROM clock
    LEFT JOIN (SELECT DISTINCT key FROM station_change WHERE version > $1) AS changed ON true
    LEFT JOIN LATERAL (
      SELECT ${RECORD} FROM station LEFT JOIN avatar ON avatar.station = station.key WHERE station.key = changed.key LIMIT 1
    ) AS record ON true`

const FIND = `
  SELECT clock.last AS version, ${RECORD}
  FROM clock JOIN station ON station.key = $1 LEFT JOIN avatar ON avatar.station = station.key`

const REGISTER = `
  SELECT kind, version, registered_at AS "registeredAt", written_at AS "writtenAt", now, icon, hash, updated_at AS "updatedAt", devices, displaced
  FROM register_stations($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ORDER BY i`

const REMOVE = 'SELECT remove_station($1, $2, $3) AS version'

const END_BY_TOKEN = 'SELECT outcome, version FROM end_by_token($1, $2)'

const PROVEN = 'SELECT key, registered_at AS "registeredAt" FROM station WHERE proven'

const PROVE = 'SELECT prove_stations($1)'

const MARK_TOKEN_DEAD = 'SELECT mark_token_dead($1, $2) AS version'

const AVATARS = `
  SELECT station, icon, image, hash FROM avatar WHERE station = ANY ($1) AND hash <> '' ORDER BY station`

// Later than any time.
const NEVER = Number.MAX_SAFE_INTEGER

type Versioned<Row> = Row & { readonly version: number }

type Registered = Versioned<
  Omit<StationRecord, 'key'> & {
    readonly kind: RegisterOutcome['kind']
    readonly writtenAt: number
    readonly now: number
    readonly displaced: StationKey | null
  }
>

interface ChangeRow extends Versioned<StationRecord> {
  readonly changesSince: number
  readonly changed: StationKey | null
}

interface RegistryParts {
  readonly postgres: Pick<Postgres, 'query' | 'read' | 'listen' | 'timeline'>
  readonly settings: Pick<StoreSettings, 'stations' | 'rateLimit'>
  readonly clock: Clock
  readonly log: Log
}

/** The registry as the rest of the store sees it. */
export interface Registry extends Stations {
  /** Looks for changes no more. */
  close(): void
}

/**
 * The registry: a copy in memory, which follows what all instances change, by notification, and each second whether or
 * not one came. What this instance changes is in it when the call returns.
 */
export async function openRegistry({ postgres, settings, clock, log }: RegistryParts): Promise<Registry> {
  const { query, read, timeline } = postgres
  const copy = createStationCopy(log)
  const { register, write } = openRegistryQueue({ registerAll, clock })
  /** That of which all stations were read. */
  let timelineRead = 0
  /** Stations that are known to be proven, with the time of their registration. */
  const proven = new Map<StationKey, number>()
  let looking = false
  let lookAgain = false
  let timer: Timer | undefined
  let closed = false

  async function load(): Promise<void> {
    const [before] = await read<{ version: number }>(LAST)
    const records: StationRecord[] = []
    for (let last = ''; ; ) {
      const page = await read<StationRecord>(LOAD, [last])
      records.push(...page)
      if (page.length < PAGE) break
      last = page.at(-1)?.key ?? last
    }
    const provenThere = await read<{ key: StationKey; registeredAt: number }>(PROVEN)
    proven.clear()
    for (const { key, registeredAt } of provenThere) proven.set(key, registeredAt)
    // When it changes, all connections end, so all pages are of one timeline.
    timelineRead = timeline()
    copy.replace(records, before?.version ?? 0)
  }

  async function follow(): Promise<void> {
    const since = copy.seen
    const rows = await read<ChangeRow>(CHANGES, [since])
    const [first] = rows
    // A standby without the last transactions has become the primary, or the database was restored.
    if (!first || first.version < since || timeline() !== timelineRead) return load()
    if (first.changesSince > since) return load()
    if (first.version < copy.seen) return // another look was faster
    const changes = rows.flatMap((row): Change[] =>
      row.changed === null ? [] : [[row.changed, row.key === null ? undefined : row]],
    )
    copy.follow(changes, first.version)
  }

  /** Never rejects: what is wrong with the database the connection says, and the next look makes up for it. */
  async function look(): Promise<void> {
    looking = true
    timer?.cancel()
    do {
      lookAgain = false
      await follow().catch(() => undefined)
    } while (lookAgain && !closed)
    looking = false
    if (!closed) timer = clock.after(LOOK_EVERY_MS, changedElsewhere)
  }

  function changedElsewhere(): void {
    if (closed) return
    lookAgain = true
    if (!looking) void look()
  }

  async function registerAll(registrations: readonly Registration[]): Promise<readonly RegisterOutcome[]> {
    const column = <T extends SqlValue>(value: (registration: Registration) => T) => registrations.map(value)
    const rows = await query<Registered>(REGISTER, [
      column(({ key }) => key),
      column(({ deviceId }) => deviceId),
      column(({ platform }) => platform),
      column(({ pushToken }) => withoutNul(pushToken)),
      column(({ ackMessages }) => ackMessages),
      column(({ avatar }) => (avatar ? withoutNul(avatar.icon) : null)),
      column(({ avatar }) => avatar?.image ?? null),
      column(({ avatar }) => avatar?.hash ?? null),
      column(({ client }) => client),
      settings.stations.max,
      settings.rateLimit.newStationsPerHour,
      replaceableAfterMs(settings.stations.expireAfterHours),
    ])
    return registrations.flatMap((registration, index) => {
      const row = rows[index]
      return row ? [outcomeOf(registration, row)] : []
    })
  }

  /** Takes the station over into the copy. */
  function outcomeOf({ key, deviceId }: Registration, row: Registered): RegisterOutcome {
    const { kind, version, registeredAt, devices, writtenAt, now, icon, hash, updatedAt, displaced } = row
    if (kind === 'full' || kind === 'devices_full' || kind === 'limited') return { kind }
    const seenAt = (lastSeenAt: number): StationRecord => {
      const seen = devices.map((device) => (device.id === deviceId ? { ...device, lastSeenAt } : device))
      return { key, registeredAt, devices: seen, icon, hash, updatedAt }
    }
    copy.take([key, seenAt(writtenAt)], version)
    copy.touch(key, deviceId, now)
    const station = stationFrom(seenAt(now))
    if (kind !== 'created') {
      proven.set(key, registeredAt)
      return { kind, station }
    }
    if (displaced === null) return { kind, station }
    copy.take([displaced, undefined], version)
    return { kind, station, displaced }
  }

  /** Nothing to do where it is known. Late is early enough: the next call tries again. */
  function prove(key: StationKey): void {
    const registeredAt = copy.get(key)?.registeredAt
    if (registeredAt === undefined || proven.get(key) === registeredAt) return
    proven.set(key, registeredAt)
    write(() => query(PROVE, [[key]])).catch(() => proven.delete(key))
  }

  async function endByToken(key: StationKey, pushToken: string): Promise<RemoveOutcome> {
    const [ended] = await query<{ outcome: 'none' | 'wrong_token' | 'silenced' | 'removed'; version: number | null }>(
      END_BY_TOKEN,
      [key, withoutNul(pushToken)],
    )
    const outcome = ended?.outcome ?? 'none'
    if (outcome === 'none' || outcome === 'wrong_token') return outcome
    await follow()
    if (outcome === 'silenced') return outcome
    return copy.get(key) ? 'devices' : 'station'
  }

  function forgetProven(): void {
    for (const key of proven.keys()) if (!copy.get(key)) proven.delete(key)
  }

  /** Notes the time of a heartbeat in memory; undefined when it brings more than its time. */
  function seeAgain(registration: Registration): Station | undefined {
    const station = copy.get(registration.key)
    if (!station || !changesNothing(registration, station)) return undefined
    copy.touch(registration.key, registration.deviceId, clock.now())
    return station
  }

  await load()
  copy.onChange(forgetProven)
  postgres.listen(CHANNEL, changedElsewhere)
  changedElsewhere()

  return {
    get: copy.get,
    async find(key) {
      const known = copy.get(key)
      if (known) return known
      const [found] = await read<Versioned<StationRecord>>(FIND, [key])
      if (!found) return undefined
      copy.take([key, found], found.version)
      return copy.get(key) ?? stationFrom(found)
    },
    get size() {
      return copy.size
    },
    keys: copy.keys,
    countStations: copy.countStations,
    countDevices: copy.countDevices,
    async register(registration) {
      try {
        return await register(registration)
      } catch (error) {
        // A database that takes no writes is no reason to turn a phone away that has nothing to be stored but the time.
        const known = error instanceof StoreError && error.code === 'store_closed' ? undefined : seeAgain(registration)
        if (known) return { kind: 'refreshed', station: known }
        throw error
      }
    },
    prove,
    remove: (key, { deviceId, pushToken, seenBeforeMs = NEVER } = {}) =>
      write(async () => {
        if (pushToken !== undefined) return endByToken(key, pushToken)
        const asked = deviceId === undefined ? null : [deviceId]
        // Both have to say so: of heartbeats within the hour memory alone knows.
        const known = seenBeforeMs === NEVER ? undefined : copy.get(key)
        const silent = known?.devices.filter(
          ({ id, lastSeenAt }) => (deviceId ?? id) === id && lastSeenAt < seenBeforeMs,
        )
        const values = [key, seenBeforeMs, silent?.map(({ id }) => id) ?? asked]
        const [removed] = await query<{ version: number | null }>(REMOVE, values)
        if ((removed?.version ?? null) === null) return 'none'
        // Read, and not made up of what memory has, which may be older.
        await follow()
        return copy.get(key) ? 'devices' : 'station'
      }),
    markTokenDead: (key, _device, pushToken) =>
      write(async () => {
        const [marked] = await query<{ version: number | null }>(MARK_TOKEN_DEAD, [key, pushToken])
        if ((marked?.version ?? null) !== null) await follow()
      }),
    async avatars(keys) {
      const rows = await read<AvatarRecord & { readonly station: StationKey }>(AVATARS, [keys])
      return new Map(rows.map(({ station, icon, image, hash }) => [station, { icon, image, hash }]))
    },
    get avatarChanges() {
      return copy.avatarChanges
    },
    onChange: copy.onChange,
    close() {
      closed = true
      timer?.cancel()
    },
  }
}
