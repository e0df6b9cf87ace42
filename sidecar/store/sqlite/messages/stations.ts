import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { createRateLimit } from '../../../messages/rate-limit.ts'
import { isSameAvatar, type StationRecord, saysNothingNew, stationFrom } from '../../../messages/station-record.ts'
import type {
  AvatarRecord,
  AvatarUpload,
  Device,
  Platform,
  RegisterOutcome,
  Registration,
  RemoveOutcome,
  Station,
  StationKey,
  Stations,
  StoreSettings,
} from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { RingIndex } from './ring-index.ts'
import type { Stamps } from './server-time.ts'

// A heartbeat that brings nothing new costs a write once an hour; expiry counts in days.
const LAST_SEEN_WRITE_MS = 3_600_000
const HOUR_MS = 3_600_000

const LOAD = `
  SELECT key, platform, push_token AS pushToken, token_dead AS tokenDead, ack_messages AS ackMessages,
    registered_at AS registeredAt, last_seen_at AS lastSeenAt, icon, hash, updated_at AS updatedAt
  FROM station LEFT JOIN avatar ON avatar.station = station.key`

const LOAD_ONE = `${LOAD} WHERE key = ?`

// Inserts nothing when the station is new and the registry full.
const REGISTER = `
  INSERT INTO station (key, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?5
  WHERE EXISTS (SELECT 1 FROM station WHERE key = ?1) OR (SELECT count(*) FROM station) < ?7
  ON CONFLICT (key) DO UPDATE SET
    platform = excluded.platform, push_token = excluded.push_token, token_dead = 0,
    ack_messages = excluded.ack_messages, last_seen_at = excluded.last_seen_at
  RETURNING key`

// The same avatar again keeps its update time.
const SET_AVATAR = `
  INSERT INTO avatar (station, icon, hash, updated_at, image) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (station) DO UPDATE SET
    icon = excluded.icon, hash = excluded.hash, updated_at = excluded.updated_at, image = excluded.image
  WHERE avatar.hash <> excluded.hash`

// A station that never had one has nothing to clear, and stays one that never set one.
const CLEAR_AVATAR = `
  UPDATE avatar SET icon = '', hash = '', image = '', updated_at = ? WHERE station = ? AND hash <> ''`

const REMOVE = 'DELETE FROM station WHERE key = ? AND last_seen_at < ? RETURNING key'

const MARK_TOKEN_DEAD = 'UPDATE station SET token_dead = 1 WHERE key = ? AND push_token = ?'

const AVATARS = `
  SELECT station, icon, image, hash FROM avatar
  WHERE station IN (SELECT value FROM json_each(?)) AND hash <> ''`

interface StationRow extends Omit<StationRecord, 'devices'>, Omit<Device, 'id' | 'tokenDead' | 'ackMessages'> {
  readonly tokenDead: number
  readonly ackMessages: number
}

interface Entry {
  /** Changed in place by heartbeats: they come all the time. */
  readonly station: ReturnType<typeof stationFrom>
  /** `lastSeenAt` as the file has it, which may be up to an hour behind. */
  readonly lastSeenOnDisk: number
}

interface StationsOptions {
  readonly rings: Pick<RingIndex, 'discard'>
  readonly settings: Pick<StoreSettings, 'stations' | 'rateLimit'>
  readonly clock: Clock
  readonly log: Log
}

/** The registry as the rest of the store sees it. */
export interface StationTable extends Stations {
  /** Server time of the station's registration as the transaction in progress has it; undefined when it is not registered. */
  registeredAt(key: StationKey): number | undefined
}

/** The registry: read into memory once, then written through. Memory changes when the file has. */
export async function openStations(
  queries: Queries,
  database: Database,
  stamps: Stamps,
  { rings, settings, clock, log }: StationsOptions,
): Promise<StationTable> {
  const entries = new Map<StationKey, Entry>()
  /** What the transaction in progress has registered, and removed: there the value is undefined. */
  const uncommitted = new Map<StationKey, number | undefined>()
  const listeners: (() => void)[] = []
  /** How many writes of a station are on their way. */
  const writing = new Map<StationKey, number>()
  const newStations = createRateLimit({ windowMs: HOUR_MS, max: settings.rateLimit.newStationsPerHour })
  let avatarChanges = 0
  const byPlatform: Record<Platform, number> = { android: 0, ios: 0, webpush: 0 }
  for (const row of await queries.all<StationRow>(LOAD)) remember(row)

  function remember(row: StationRow): void {
    const station = stationOf(row)
    const before = entries.get(row.key)
    // Of heartbeats that changed nothing memory knows more than the file.
    const [device] = station.devices
    if (device && before?.lastSeenOnDisk === row.lastSeenAt)
      device.lastSeenAt = before.station.devices[0]?.lastSeenAt ?? 0
    if (!isSameAvatar(station.avatar, before?.station.avatar)) avatarChanges += 1
    if (before) byPlatform[platformOf(before.station)] -= 1
    byPlatform[platformOf(station)] += 1
    entries.set(row.key, { station, lastSeenOnDisk: row.lastSeenAt })
  }

  function forget(key: StationKey): void {
    const before = entries.get(key)?.station
    if (before?.avatar.state === 'set') avatarChanges += 1
    if (before) byPlatform[platformOf(before)] -= 1
    entries.delete(key)
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

  function changing(tx: Transaction, key: StationKey, registeredAt: number | undefined): void {
    uncommitted.set(key, registeredAt)
    const over = () => uncommitted.clear()
    tx.onCommit(over)
    tx.onRollback(over)
  }

  async function write<In extends { readonly key: StationKey }, Out>(kind: Write<In, Out>, input: In): Promise<Out> {
    const { key } = input
    writing.set(key, (writing.get(key) ?? 0) + 1)
    try {
      return await database.write(kind, input)
    } finally {
      const left = (writing.get(key) ?? 1) - 1
      if (left > 0) writing.set(key, left)
      else writing.delete(key)
    }
  }

  const register: Write<Registration, RegisterOutcome> = {
    run: (tx, inputs) => eachInTurn(inputs, (registration) => registerOne(tx, registration)),
  }

  async function registerOne(tx: Transaction, registration: Registration): Promise<RegisterOutcome> {
    const { key, platform, pushToken, ackMessages, avatar } = registration
    const stamp = stamps.take(tx, 1)
    await stamps.cover(tx)
    const accepted = await tx.all(
      REGISTER,
      key,
      platform,
      pushToken,
      ackMessages ? 1 : 0,
      stamp,
      clock.now(),
      settings.stations.max,
    )
    if (accepted.length === 0) return { kind: 'full' }
    if (avatar) await storeAvatar(tx, key, avatar, stamp)
    const row = await loadOne(tx, key)
    if (!row) throw new StoreError('store_fault')
    const created = row.registeredAt === stamp // no other registration has this stamp
    changing(tx, key, row.registeredAt)
    tx.onCommit(() => {
      remember(row)
      if (created) changed()
    })
    return { kind: created ? 'created' : 'refreshed', station: stationOf(row) }
  }

  const remove: Write<{ readonly key: StationKey; readonly beforeMs: number }, RemoveOutcome> = {
    async run(tx, inputs) {
      const removed = await eachInTurn(inputs, ({ key, beforeMs }) => removeOne(tx, key, beforeMs))
      await rings.discard(
        tx,
        inputs.filter((_, index) => removed[index] === 'station').map(({ key }) => key),
      )
      return removed
    },
  }

  async function removeOne(tx: Transaction, key: StationKey, beforeMs: number): Promise<RemoveOutcome> {
    // Both have to say so: memory alone knows of heartbeats, the file alone of what this transaction did before.
    if ((entries.get(key)?.station.devices[0]?.lastSeenAt ?? 0) >= beforeMs) return 'none'
    const removed = (await tx.all(REMOVE, key, beforeMs)).length > 0
    if (removed) {
      changing(tx, key, undefined)
      tx.onCommit(() => {
        forget(key)
        changed()
      })
    }
    return removed ? 'station' : 'none'
  }

  const markTokenDead: Write<{ readonly key: StationKey; readonly pushToken: string }, void> = {
    run: (tx, inputs) =>
      eachInTurn(inputs, async ({ key, pushToken }) => {
        await tx.all(MARK_TOKEN_DEAD, key, pushToken)
        const row = await loadOne(tx, key)
        if (row) tx.onCommit(() => remember(row))
      }),
  }

  /** The heartbeat of a station of which nothing changed: noted in memory, when that is enough. */
  function refreshInMemory(registration: Registration): Station | undefined {
    const entry = entries.get(registration.key)
    // While a write is on its way, memory may be about to change: this call takes its place in the queue behind it.
    if (!entry || writing.has(registration.key)) return undefined
    // In either direction, so that a clock that was wrong for a while leaves nothing behind.
    if (Math.abs(clock.now() - entry.lastSeenOnDisk) > LAST_SEEN_WRITE_MS) return undefined
    return seeAgain(registration)
  }

  /** Notes the time of a heartbeat in memory; undefined when it brings more than its time. */
  function seeAgain(registration: Registration): Station | undefined {
    const entry = entries.get(registration.key)
    if (!entry || !saysNothingNew(registration, entry.station)) return undefined
    for (const device of entry.station.devices) device.lastSeenAt = clock.now()
    return entry.station
  }

  return {
    get: (key) => entries.get(key)?.station,
    find: async (key) => entries.get(key)?.station,
    registeredAt: (key) => (uncommitted.has(key) ? uncommitted.get(key) : entries.get(key)?.station.registeredAt),
    get size() {
      return entries.size
    },
    keys: () => entries.keys(),
    countDevices: () => ({ ...byPlatform }),
    async register(registration) {
      database.assertOpen()
      const station = refreshInMemory(registration)
      if (station) return { kind: 'refreshed', station }
      const { key, client } = registration
      if (!entries.has(key) && !newStations.take(client, clock.elapsed())) return { kind: 'limited' }
      try {
        return await write(register, registration)
      } catch (error) {
        // A full disk is no reason to turn a phone away that has nothing to be stored but the time.
        const known = seeAgain(registration)
        if (known) return { kind: 'refreshed', station: known }
        throw error
      }
    },
    remove: (key, { seenBeforeMs: beforeMs = Number.POSITIVE_INFINITY } = {}) => write(remove, { key, beforeMs }),
    markTokenDead: (key, _device, pushToken) => write(markTokenDead, { key, pushToken }),
    avatars: (keys) =>
      database.read(async (reading) => {
        const rows = await reading.all<AvatarRecord & { station: StationKey }>(AVATARS, JSON.stringify(keys))
        return new Map(rows.map(({ station, icon, image, hash }) => [station, { icon, image, hash }]))
      }),
    get avatarChanges() {
      return avatarChanges
    },
    onChange(listener) {
      listeners.push(listener)
    },
  }
}

async function loadOne(tx: Transaction, key: StationKey): Promise<StationRow | undefined> {
  const [row] = await tx.all<StationRow>(LOAD_ONE, key)
  return row
}

async function storeAvatar(tx: Transaction, key: StationKey, avatar: AvatarUpload, stamp: number): Promise<void> {
  if (avatar.icon === '' && avatar.image === '') await tx.all(CLEAR_AVATAR, stamp, key)
  else await tx.all(SET_AVATAR, key, avatar.icon, avatar.hash, stamp, avatar.image)
}

function stationOf(row: StationRow): Entry['station'] {
  const { platform, pushToken, registeredAt, lastSeenAt } = row
  const flags = { tokenDead: row.tokenDead === 1, ackMessages: row.ackMessages === 1 }
  return stationFrom({ ...row, devices: [{ id: '', platform, pushToken, ...flags, registeredAt, lastSeenAt }] })
}

function platformOf({ devices: [device] }: Station): Platform {
  return device?.platform ?? 'android'
}

async function eachInTurn<In, Out>(
  inputs: readonly In[],
  handle: (input: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const outputs: Out[] = []
  for (const input of inputs) outputs.push(await handle(input))
  return outputs
}
