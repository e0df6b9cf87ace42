import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { createRateLimit } from '../../../messages/rate-limit.ts'
import { deviceOf, MAX_DEVICES, UNPROVEN_MS } from '../../../messages/station.ts'
import {
  avatarAfter,
  changesNothing,
  createPlatformCounts,
  isSameAvatar,
  replaceableAfterMs,
  type SeenDevice,
  type SeenStation,
} from '../../../messages/station-record.ts'
import type {
  AvatarRecord,
  Device,
  DeviceFilter,
  RegisterOutcome,
  Registration,
  RemoveOutcome,
  Station,
  StationKey,
  Stations,
  StoreSettings,
} from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import { type Database, eachInTurn, type Transaction, type Write } from '../database/database.ts'
import { loadStations } from './load-stations.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'

// A heartbeat that brings nothing new costs a write once an hour; expiry counts in days.
const LAST_SEEN_WRITE_MS = 3_600_000
const HOUR_MS = 3_600_000
const AVATAR_CHARACTERS_A_ROW = 1024

// Nothing where the registry is full.
const ADD_STATION = `
  INSERT INTO station (key, registered_at) SELECT ?1, ?2 WHERE (SELECT count(*) FROM station) < ?3 RETURNING key`

/** By the index station_unproven: a stranger can have this searched at each call. */
export const OLDEST_UNPROVEN = `
  SELECT key FROM station WHERE proven = 0 AND registered_at < ?1 AND (SELECT count(*) FROM station) <= ?2
  ORDER BY registered_at LIMIT 1`

const UNPROVEN = 'SELECT key FROM station WHERE proven = 0'

const PROVE = 'UPDATE station SET proven = 1 WHERE key = ?'

const SET_DEVICE = `
  INSERT INTO device (
    station, id, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?6)
  ON CONFLICT (station, id) DO UPDATE SET
    first_token = coalesce(first_token, CASE WHEN push_token <> excluded.push_token THEN push_token END),
    platform = excluded.platform, push_token = excluded.push_token, token_dead = 0,
    ack_messages = excluded.ack_messages, last_seen_at = excluded.last_seen_at`

const SET_AVATAR = `
  INSERT INTO avatar (station, icon, hash, updated_at, image) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (station) DO UPDATE SET
    icon = excluded.icon, hash = excluded.hash, updated_at = excluded.updated_at, image = excluded.image`

const REMOVE = 'DELETE FROM station WHERE key = ?'
const REMOVE_DEVICES = 'DELETE FROM device WHERE station = ? AND id IN (SELECT value FROM json_each(?))'

const MARK_TOKEN_DEAD = 'UPDATE device SET token_dead = 1 WHERE station = ? AND id = ?'

const HAS_FIRST_TOKEN = 'SELECT first_token IS NULL AS yes FROM device WHERE station = ? AND id = ?'

const AVATARS = `
  SELECT station, icon, image, hash FROM avatar
  WHERE station IN (SELECT value FROM json_each(?)) AND hash <> ''`

// 120 KB at most, which take half a millisecond. A message that arrives meanwhile waits for one slice.
const AVATARS_PER_READ = 5

interface AvatarRow extends AvatarRecord {
  readonly station: StationKey
}

interface Removal extends DeviceFilter {
  readonly key: StationKey
}

interface StationsOptions {
  readonly rings: Pick<RingIndex, 'discard'>
  readonly settings: Pick<StoreSettings, 'stations' | 'rateLimit'>
  readonly clock: Clock
  readonly log: Log
}

/** The registry as the rest of the store sees it. */
export interface StationTable extends Stations {
  /**
   * Server time of the station's registration as the transaction in progress has it; undefined when it is not
   * registered.
   */
  registeredAt(key: StationKey): number | undefined
}

/** The registry: read into memory once, then written through. Memory changes when the file has. */
export async function openStations(
  queries: Queries,
  database: Database,
  stamps: StampSequence,
  { rings, settings, clock, log }: StationsOptions,
): Promise<StationTable> {
  const known = new Map<StationKey, SeenStation>()
  /** `lastSeenAt` of each device as the file has it, which may be up to an hour behind. */
  const lastSeenOnDisk = new WeakMap<Device, number>()
  /** What the transaction in progress has changed; undefined where it has removed it. */
  const uncommitted = new Map<StationKey, SeenStation | undefined>()
  const listeners: (() => void)[] = []
  /** How many writes of a station are on their way. */
  const writing = new Map<StationKey, number>()
  const newStations = createRateLimit({ windowMs: HOUR_MS, max: settings.rateLimit.newStationsPerHour })
  const makesRoomAfter = replaceableAfterMs(settings.stations.expireAfterHours)
  /** As the file has it. */
  const unproven = new Set((await queries.all<{ key: StationKey }>(UNPROVEN)).map(({ key }) => key))
  let avatarChanges = 0
  const counts = createPlatformCounts()
  for (const station of await loadStations(queries)) {
    for (const device of station.devices) lastSeenOnDisk.set(device, device.lastSeenAt)
    remember(station.key, station)
  }

  function remember(key: StationKey, station: SeenStation | undefined): void {
    const before = known.get(key)
    if (!isSameAvatar(station?.avatar, before?.avatar)) avatarChanges += 1
    counts.change(before, station)
    if (station) known.set(key, station)
    else {
      known.delete(key)
      unproven.delete(key)
    }
    if ((before === undefined) !== (station === undefined)) changed()
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

  /** The station as the transaction in progress has it. */
  function current(key: StationKey): SeenStation | undefined {
    return uncommitted.has(key) ? uncommitted.get(key) : known.get(key)
  }

  function changing(tx: Transaction, key: StationKey, station: SeenStation | undefined): void {
    uncommitted.set(key, station)
    tx.onCommit(() => {
      uncommitted.clear()
      remember(key, station)
    })
    tx.onRollback(() => uncommitted.clear())
  }

  /** `devices` as they are once the tokens of those that lose theirs count as dead. */
  function markDead(
    tx: Transaction,
    key: StationKey,
    devices: readonly SeenDevice[],
    loses: (device: Device) => boolean,
  ): Promise<readonly SeenDevice[]> {
    return eachInTurn(devices, async (device) => {
      if (device.tokenDead || !loses(device)) return device
      await tx.all(MARK_TOKEN_DEAD, key, device.id)
      const dead = { ...device, tokenDead: true }
      lastSeenOnDisk.set(dead, lastSeenOnDisk.get(device) ?? 0)
      return dead
    })
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
    // So that no more than 50 MB of avatars wait, and no transaction carries more than 1 MB of them.
    weight: ({ avatar }) => 1 + Math.floor((avatar?.image.length ?? 0) / AVATAR_CHARACTERS_A_ROW),
  }

  async function registerOne(tx: Transaction, registration: Registration): Promise<RegisterOutcome> {
    const { key, deviceId, platform, pushToken, ackMessages, avatar } = registration
    const before = current(key)
    const others = before?.devices.filter(({ id }) => id !== deviceId) ?? []
    const same = deviceOf(before, deviceId)
    if (!same && others.length >= MAX_DEVICES) {
      const unseen = others.sort((one, other) => one.lastSeenAt - other.lastSeenAt).shift()
      if (!unseen || clock.now() - unseen.lastSeenAt <= makesRoomAfter) return { kind: 'devices_full' }
      await tx.all(REMOVE_DEVICES, key, JSON.stringify([unseen.id]))
    }
    const stamp = stamps.take(tx, 1)
    await stamps.cover(tx)
    const added = before ? undefined : await addStation(tx, key, stamp)
    if (added === 'full') return { kind: 'full' }
    if (before) await proveOne(tx, key)
    const lastSeenAt = clock.now()
    const registeredAt = same?.registeredAt ?? stamp
    const device = { id: deviceId, platform, pushToken, tokenDead: false, ackMessages, registeredAt, lastSeenAt }
    lastSeenOnDisk.set(device, lastSeenAt)
    await tx.all(SET_DEVICE, key, deviceId, platform, pushToken, ackMessages ? 1 : 0, registeredAt, lastSeenAt)
    const left = await markDead(tx, key, others, (other) => other.pushToken === pushToken)
    const held = before?.avatar ?? { state: 'never' }
    const shown = avatarAfter(held, avatar, stamp)
    if (avatar && shown !== held) await tx.all(SET_AVATAR, key, avatar.icon, avatar.hash, stamp, avatar.image)
    const station = {
      key,
      registeredAt: before?.registeredAt ?? stamp,
      devices: [device, ...left].sort((one, other) => one.registeredAt - other.registeredAt),
      avatar: shown,
    }
    changing(tx, key, station)
    if (added) return { kind: 'created', station, ...added }
    return { kind: same ? 'refreshed' : 'joined', station }
  }

  /** Adds a station, in a full registry in place of the oldest unproven one, which is gone then. */
  async function addStation(
    tx: Transaction,
    key: StationKey,
    stamp: number,
  ): Promise<'full' | { readonly displaced?: StationKey }> {
    const { max } = settings.stations
    const add = () => tx.all(ADD_STATION, key, stamp, max)
    const adds = () => tx.onCommit(() => unproven.add(key))
    if ((await add()).length > 0) {
      adds()
      return {}
    }
    const [oldest] = await tx.all<{ key: StationKey }>(OLDEST_UNPROVEN, clock.now() - UNPROVEN_MS, max)
    if (!oldest) return 'full'
    await tx.all(REMOVE, oldest.key)
    await rings.discard(tx, [oldest.key])
    changing(tx, oldest.key, undefined)
    await add()
    adds()
    return { displaced: oldest.key }
  }

  async function proveOne(tx: Transaction, key: StationKey): Promise<void> {
    if (!unproven.has(key)) return
    await tx.all(PROVE, key)
    tx.onCommit(() => unproven.delete(key))
  }

  const prove: Write<Pick<Registration, 'key'>, void> = {
    run: (tx, inputs) => eachInTurn(inputs, ({ key }) => proveOne(tx, key)),
  }

  const remove: Write<Removal, RemoveOutcome> = {
    async run(tx, inputs) {
      const removed = await eachInTurn(inputs, (removal) => removeOne(tx, removal))
      await rings.discard(
        tx,
        inputs.filter((_, index) => removed[index] === 'station').map(({ key }) => key),
      )
      return removed
    },
  }

  async function removeOne(
    tx: Transaction,
    { key, deviceId, pushToken, seenBeforeMs = Infinity }: Removal,
  ): Promise<RemoveOutcome> {
    const station = current(key)
    const goes = ({ id, lastSeenAt }: Device) => (deviceId ?? id) === id && lastSeenAt < seenBeforeMs
    const gone = station?.devices.filter(goes) ?? []
    if (!station || gone.length === 0) return 'none'
    if (pushToken !== undefined) {
      const [device] = gone
      if (device?.pushToken !== pushToken) return 'wrong_token'
      const [first] = await tx.all<{ yes: number }>(HAS_FIRST_TOKEN, key, device.id)
      if (first?.yes !== 1) {
        const devices = await markDead(tx, key, station.devices, ({ id }) => id === device.id)
        changing(tx, key, { ...station, devices })
        return 'silenced'
      }
    }
    const left = station.devices.filter((device) => !gone.includes(device))
    if (left.length > 0) await tx.all(REMOVE_DEVICES, key, JSON.stringify(gone.map(({ id }) => id)))
    else await tx.all(REMOVE, key)
    changing(tx, key, left.length > 0 ? { ...station, devices: left } : undefined)
    return left.length > 0 ? 'devices' : 'station'
  }

  const markTokenDead: Write<Pick<Registration, 'key' | 'deviceId' | 'pushToken'>, void> = {
    run: (tx, inputs) =>
      eachInTurn(inputs, async ({ key, deviceId, pushToken }) => {
        const station = current(key)
        if (!station) return
        const isMeant = (device: Device) => device.id === deviceId && device.pushToken === pushToken
        changing(tx, key, { ...station, devices: await markDead(tx, key, station.devices, isMeant) })
      }),
  }

  /** The heartbeat of a device of which nothing changed: noted in memory, when that is enough. */
  function refreshInMemory(registration: Registration): Station | undefined {
    const device = deviceOf(known.get(registration.key), registration.deviceId)
    // While a write is on its way, memory may be about to change: this call takes its place in the queue behind it.
    if (!device || writing.has(registration.key) || unproven.has(registration.key)) return undefined
    // In either direction, so that a clock that was wrong for a while leaves nothing behind.
    if (Math.abs(clock.now() - (lastSeenOnDisk.get(device) ?? 0)) > LAST_SEEN_WRITE_MS) return undefined
    return seeAgain(registration)
  }

  /** Notes the time of a heartbeat in memory; undefined when it brings more than its time. */
  function seeAgain(registration: Registration): Station | undefined {
    const station = known.get(registration.key)
    if (!station || !changesNothing(registration, station)) return undefined
    const device = deviceOf(station, registration.deviceId)
    if (device) device.lastSeenAt = clock.now()
    return station
  }

  return {
    get: (key) => known.get(key),
    find: async (key) => known.get(key),
    registeredAt: (key) => current(key)?.registeredAt,
    get size() {
      return known.size
    },
    keys: () => known.keys(),
    countStations: counts.stations,
    countDevices: counts.devices,
    async register(registration) {
      database.assertOpen()
      const station = refreshInMemory(registration)
      if (station) return { kind: 'refreshed', station }
      const { key, deviceId, client } = registration
      if (!deviceOf(known.get(key), deviceId) && !newStations.take(client, clock.elapsed())) return { kind: 'limited' }
      try {
        return await write(register, registration)
      } catch (error) {
        // A full disk is no reason to turn a phone away that has nothing to be stored but the time.
        const unchanged = seeAgain(registration)
        if (unchanged) return { kind: 'refreshed', station: unchanged }
        throw error
      }
    },
    remove: (key, which) => write(remove, { key, ...which }),
    prove(key) {
      // Late is early enough: the next call tries again.
      if (unproven.has(key) && !writing.has(key)) write(prove, { key }).catch(() => undefined)
    },
    markTokenDead: (key, deviceId, pushToken) => write(markTokenDead, { key, deviceId, pushToken }),
    async avatars(keys) {
      const avatars = new Map<StationKey, AvatarRecord>()
      // At least one slice: `/healthz` asks for an avatar to learn whether the file answers.
      for (let first = 0; first === 0 || first < keys.length; first += AVATARS_PER_READ) {
        const slice = JSON.stringify(keys.slice(first, first + AVATARS_PER_READ))
        const rows = await database.readBehind((reading) => reading.all<AvatarRow>(AVATARS, slice))
        for (const { station, icon, image, hash } of rows) avatars.set(station, { icon, image, hash })
      }
      return avatars
    },
    get avatarChanges() {
      return avatarChanges
    },
    onChange(listener) {
      listeners.push(listener)
    },
  }
}
