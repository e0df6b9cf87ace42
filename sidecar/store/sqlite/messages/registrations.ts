import type { Clock } from '../../../clock.ts'
import { NO_OPTIONS } from '../../../messages/devices/device-options.ts'
import { deviceOf, MAX_DEVICES, UNPROVEN_MS } from '../../../messages/station.ts'
import { avatarAfter, replaceableAfterMs, type SeenDevice } from '../../../messages/station-record.ts'
import type { RegisterOutcome, Registration, StationKey, StoreSettings } from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import { eachInTurn, type Transaction, type Write } from '../database/database.ts'
import { markTokensDead } from './dead-tokens.ts'
import { REMOVE_DEVICES, REMOVE_STATION } from './removals.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'
import type { StationMemory } from './station-memory.ts'

const AVATAR_CHARACTERS_A_ROW = 1024

// Adds the station, unless the registry is full.
const ADD_STATION = `
  INSERT INTO station (key, registered_at) SELECT ?1, ?2 WHERE (SELECT count(*) FROM station) < ?3 RETURNING key`

/** Uses the index station_unproven, because anyone can trigger this search with a request. */
export const OLDEST_UNPROVEN = `
  SELECT key FROM station WHERE proven = 0 AND registered_at < ?1 AND (SELECT count(*) FROM station) <= ?2
  ORDER BY registered_at LIMIT 1`

const PROVE = 'UPDATE station SET proven = 1 WHERE key = ?'

const SET_DEVICE = readSql(new URL('./set-device.sql', import.meta.url))

const SET_AVATAR = `
  INSERT INTO avatar (station, icon, hash, updated_at, image) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (station) DO UPDATE SET
    icon = excluded.icon, hash = excluded.hash, updated_at = excluded.updated_at, image = excluded.image`

interface RegistrationsParts {
  readonly memory: StationMemory
  readonly stamps: Pick<StampSequence, 'take' | 'cover'>
  readonly rings: Pick<RingIndex, 'discard'>
  readonly settings: Pick<StoreSettings, 'stations'>
  readonly clock: Pick<Clock, 'now'>
}

/** The writes that register stations and devices, and the write that marks a station as proven. */
export class Registrations {
  readonly #parts: RegistrationsParts

  constructor(parts: RegistrationsParts) {
    this.#parts = parts
  }

  readonly register: Write<Registration, RegisterOutcome> = {
    run: (tx, inputs) => eachInTurn(inputs, (registration) => this.#register(tx, registration)),
    // A longer avatar weighs more. So the limits of the queue allow 50 MB of waiting avatars, and 1 MB of avatars in
    // one transaction.
    weight: ({ avatar }) => 1 + Math.floor((avatar?.image.length ?? 0) / AVATAR_CHARACTERS_A_ROW),
  }

  readonly prove: Write<Pick<Registration, 'key'>, void> = {
    run: (tx, inputs) => eachInTurn(inputs, ({ key }) => this.#prove(tx, key)),
  }

  async #register(tx: Transaction, registration: Registration): Promise<RegisterOutcome> {
    const { memory, stamps } = this.#parts
    const { key, deviceId, pushToken } = registration
    const former = memory.current(key)
    const same = deviceOf(former, deviceId)
    const siblings = former?.devices.filter(({ id }) => id !== deviceId) ?? []
    if (!same && !(await this.#makeRoomFor(tx, key, siblings))) return { kind: 'devices_full' }
    const stamp = stamps.take(tx, 1)
    await stamps.cover(tx)
    const added = former ? undefined : await this.#addStation(tx, key, stamp)
    if (added === 'full') return { kind: 'full' }
    if (former) await this.#prove(tx, key)
    const device = await this.#writeDevice(tx, registration, same?.registeredAt ?? stamp)
    const otherDevices = await markTokensDead(tx, memory, key, siblings, (device) => device.pushToken === pushToken)
    const station = {
      key,
      registeredAt: former?.registeredAt ?? stamp,
      devices: [device, ...otherDevices].sort((a, b) => a.registeredAt - b.registeredAt),
      avatar: await this.#writeAvatar(tx, registration, stamp),
    }
    memory.change(tx, key, station)
    if (added) return { kind: 'created', station, ...added }
    return { kind: same ? 'refreshed' : 'joined', station }
  }

  /**
   * Ensures that a station can have one more device than `siblings`. If it is full, removes the device that was silent
   * the longest, also from `siblings`. Returns false if none was silent long enough.
   */
  async #makeRoomFor(tx: Transaction, key: StationKey, siblings: SeenDevice[]): Promise<boolean> {
    const { settings, clock } = this.#parts
    if (siblings.length < MAX_DEVICES) return true
    const silent = siblings.sort((a, b) => a.lastSeenAt - b.lastSeenAt).shift()
    if (!silent || clock.now() - silent.lastSeenAt <= replaceableAfterMs(settings.stations.expireAfterHours))
      return false
    await tx.all(REMOVE_DEVICES, key, JSON.stringify([silent.id]))
    return true
  }

  /** Adds a station. In a full registry, the station replaces the oldest unproven one, if there is one. */
  async #addStation(
    tx: Transaction,
    key: StationKey,
    stamp: number,
  ): Promise<'full' | { readonly displaced?: StationKey }> {
    const { memory, rings, settings, clock } = this.#parts
    const { max } = settings.stations
    const add = () => tx.all(ADD_STATION, key, stamp, max)
    if ((await add()).length > 0) {
      memory.setProven(tx, key, false)
      return {}
    }
    const [oldest] = await tx.all<{ key: StationKey }>(OLDEST_UNPROVEN, clock.now() - UNPROVEN_MS, max)
    if (!oldest) return 'full'
    await tx.all(REMOVE_STATION, oldest.key)
    await rings.discard(tx, [oldest.key])
    memory.change(tx, oldest.key, undefined)
    await add()
    memory.setProven(tx, key, false)
    return { displaced: oldest.key }
  }

  async #prove(tx: Transaction, key: StationKey): Promise<void> {
    const { memory } = this.#parts
    if (!memory.isUnproven(key)) return
    await tx.all(PROVE, key)
    memory.setProven(tx, key, true)
  }

  async #writeDevice(tx: Transaction, registration: Registration, registeredAt: number): Promise<SeenDevice> {
    const { memory, clock } = this.#parts
    const { key, deviceId, platform, pushToken, ackMessages, options = NO_OPTIONS } = registration
    const lastSeenAt = clock.now()
    const [id, tokenDead] = [deviceId, false]
    const device = { id, platform, pushToken, tokenDead, ackMessages, options, registeredAt, lastSeenAt }
    memory.setLastSeenInFile(device, lastSeenAt)
    const values = [key, id, platform, pushToken, ackMessages ? 1 : 0, registeredAt, lastSeenAt]
    const { blocked, wantAcks, anySsid } = options
    await tx.all(SET_DEVICE, ...values, blocked.join(' '), wantAcks ? 1 : 0, anySsid ? 1 : 0)
    return device
  }

  async #writeAvatar(tx: Transaction, { key, avatar }: Registration, stamp: number) {
    const former = this.#parts.memory.current(key)?.avatar ?? { state: 'never' }
    const shown = avatarAfter(former, avatar, stamp)
    if (avatar && shown !== former) await tx.all(SET_AVATAR, key, avatar.icon, avatar.hash, stamp, avatar.image)
    return shown
  }
}
