import type { Clock } from '../../../clock.ts'
import { destinationOf } from '../../../messages/message.ts'
import { PUSH_LEASE_MS, type PushClaim, type PushQueue } from '../../../messages/push-queue.ts'
import type { PushResult } from '../../../messages/reports/push-result.ts'
import { deviceKey } from '../../../messages/station.ts'
import { type DeviceId, PLATFORMS, type Platform, type Station, type StationKey } from '../../../messages/store.ts'
import { type Batches, openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { type SqlValue, withoutNul } from '../database/sql-values.ts'
import { tryAgain } from '../database/try-again.ts'
import { type KnownPushes, openKnownPushes } from './known-pushes.ts'
import { openPushTimers, type PushTimers } from './push-timers.ts'

const STATEMENT_ROWS = 1000
// Limit of waiting rows. It exceeds the number of devices that can be claimed at the same time.
const WAITING_ROWS = 100_000

const CLAIM = `
  SELECT station, device, platform, push_token AS "pushToken", token_dead AS "tokenDead", lease_until AS lease, tries,
    refusals, since_first_try AS "firstTryMs", waited AS "waitedMs", count, time, source, seq_id AS "seqId", text,
    addressee
  FROM claim_pushes($1, $2, $3, $4)`
const SETTLE = 'SELECT station AS key, due_in AS "dueInMs" FROM settle_pushes($1, $2, $3, $4, $5, $6, $7, $8)'
const POSTPONE = 'SELECT postpone_pushes($1, $2, $3, $4, $5, $6, $7, $8, $9)'

interface ClaimRow {
  readonly station: StationKey
  readonly device: DeviceId
  readonly platform: Platform
  readonly pushToken: string
  readonly tokenDead: boolean
  readonly lease: number
  readonly tries: number
  readonly refusals: number
  readonly firstTryMs: number
  readonly waitedMs: number
  readonly count: number
  readonly time: number
  readonly source: Buffer
  readonly seqId: Buffer
  readonly text: Buffer
  readonly addressee: Buffer
}

/**
 * A claimed row of the push queue, with the key of its device. `lease` distinguishes the claim from others of this
 * device.
 */
interface Leased {
  readonly claim: PushClaim
  readonly key: string
  readonly lease: number
  /** The result of the try to notify the device; undefined if there is no new result. */
  readonly result: PushResult | undefined
}

interface Postponed extends Leased {
  readonly next: Parameters<PushQueue['retryLater']>[1]
}

interface PushQueueParts {
  readonly database: Queries
  /** The unique name under which this process holds leases. */
  readonly owner: string
  readonly coalesceMs: number
  readonly stationOf: (key: StationKey) => Pick<Station, 'devices'> | undefined
  readonly clock: Clock
}

/** The interface of the push queue for other modules of the store. */
export interface SharedPushQueue extends PushQueue {
  /**
   * Records that this instance has just stored messages for these stations, and schedules the notification of their
   * devices.
   */
  stored(stations: readonly StationKey[]): void
}

/** Opens the push queue in the shared table. */
export function openPushQueue(parts: PushQueueParts): SharedPushQueue {
  return new PostgresPushQueue(parts)
}

/**
 * The push queue in the table that all instances share, with at most one row per device.
 *
 * A row waits until it is due. Then an instance claims it, which leases the row. `settle` removes it, or makes it wait
 * again if messages arrived during the lease. `retryLater` makes it wait for a delay. If neither succeeds, the lease
 * expires and the row is due again. So a device is notified at least once.
 *
 * For each row that this instance stored or postponed, memory has a timer, and an estimate for metrics.
 * {@link PushTimers} also polls for rows that other instances left.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class PostgresPushQueue implements SharedPushQueue {
  readonly #parts: PushQueueParts
  readonly #leases = new WeakMap<PushClaim, number>()
  readonly #estimates: KnownPushes
  readonly #timers: PushTimers
  readonly #settling: Batches<Leased, void>
  readonly #postponing: Batches<Postponed, void>

  constructor(parts: PushQueueParts) {
    this.#parts = parts
    this.#estimates = openKnownPushes(parts.clock)
    this.#timers = openPushTimers(parts.clock)
    this.#settling = openBatches({
      run: (leased) => this.#settleAll(leased),
      most: STATEMENT_ROWS,
      parallel: 1,
      mostWaiting: WAITING_ROWS,
    })
    this.#postponing = openBatches({
      run: (postponed) => this.#postponeAll(postponed),
      most: STATEMENT_ROWS,
      parallel: 1,
      mostWaiting: WAITING_ROWS,
    })
  }

  readonly claim: PushQueue['claim'] = async (room) => {
    const { database, owner, clock } = this.#parts
    const platforms = PLATFORMS.filter((platform) => room[platform] > 0)
    if (platforms.length === 0) return []
    const askedAt = clock.elapsed()
    const rooms = platforms.map((platform) => Math.floor(room[platform]))
    const rows = await database.query<ClaimRow>(CLAIM, [owner, platforms, rooms, PUSH_LEASE_MS])
    const claims = rows.map((row) => {
      const claim = claimOf(row)
      this.#leases.set(claim, row.lease)
      this.#estimates.claimed(deviceKey(row.station, row.device), row.platform)
      return claim
    })
    for (const platform of platforms) {
      const claimed = claims.filter(({ device }) => device.platform === platform).length
      // If the database returned fewer rows than requested, other instances have claimed all other due rows.
      if (claimed < room[platform]) this.#estimates.forgetDue(platform, askedAt)
    }
    return claims
  }

  readonly settle: PushQueue['settle'] = (claim, result) => {
    const leased = this.#leasedBy(claim, result)
    return this.#orAfterLease(leased, this.#settling.add(leased))
  }

  readonly retryLater: PushQueue['retryLater'] = (claim, next, result) => {
    const leased = this.#leasedBy(claim, result)
    return this.#orAfterLease(leased, this.#postponing.add({ ...leased, next }))
  }

  readonly onDue = (listener: () => void): void => this.#timers.onRing(listener)
  readonly waiting = (platform: Platform): number => this.#estimates.waiting(platform)
  readonly close = (): void => this.#timers.close()

  readonly stored = (stations: readonly StationKey[]): void => {
    const { stationOf, coalesceMs } = this.#parts
    let isNew = false
    for (const key of stations)
      for (const { id, platform } of stationOf(key)?.devices ?? [])
        isNew = this.#estimates.add(deviceKey(key, id), platform, coalesceMs) || isNew
    if (isNew) this.#timers.ring(coalesceMs)
  }

  async #settleAll(all: readonly Leased[]): Promise<readonly undefined[]> {
    const { database, owner, coalesceMs, clock } = this.#parts
    const values = [
      owner,
      all.map(({ key }) => key),
      all.map(({ claim }) => claim.unpushed.newest.stamp),
      all.map(({ lease }) => lease),
      ...resultColumns(all),
      coalesceMs,
    ]
    const settle = () => database.query<{ key: string; dueInMs: number }>(SETTLE, values)
    // Retries the settlement until the leases end. Otherwise the next instance that claims these rows would notify the
    // phones again.
    const staying = await tryAgain(settle, clock.elapsed() + PUSH_LEASE_MS, clock)
    const dueInMs = new Map(staying.map((row) => [row.key, row.dueInMs]))
    for (const { key, claim } of all) this.#released(key, claim.device.platform, dueInMs.get(key))
    return all.map(() => undefined)
  }

  async #postponeAll(all: readonly Postponed[]): Promise<readonly undefined[]> {
    const { database, owner } = this.#parts
    await database.query(POSTPONE, [
      owner,
      all.map(({ key }) => key),
      all.map(({ lease }) => lease),
      all.map(({ next }) => Math.round(next.delayMs)),
      all.map(({ next }) => next.tries),
      all.map(({ next }) => next.refusals),
      ...resultColumns(all),
    ])
    for (const { key, claim, next } of all) this.#released(key, claim.device.platform, next.delayMs)
    return all.map(() => undefined)
  }

  /**
   * Updates the estimate of when a row is due. Without `dueInMs`, the row was removed; otherwise it is due again in
   * `dueInMs`.
   */
  #released(key: string, platform: Platform, dueInMs: number | undefined): void {
    if (dueInMs === undefined) {
      this.#estimates.forget(key)
      return
    }
    this.#estimates.wait(key, platform, dueInMs)
    this.#timers.ring(dueInMs)
  }

  /** Resolves or rejects like `work`. If `work` fails, records that the row is due again when the lease expires. */
  async #orAfterLease<T>({ key, claim }: Leased, work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      this.#estimates.wait(key, claim.device.platform, PUSH_LEASE_MS)
      throw error
    })
  }

  #leasedBy(claim: PushClaim, result: PushResult | undefined): Leased {
    return { claim, key: deviceKey(claim.station, claim.device.id), lease: this.#leases.get(claim) ?? 0, result }
  }
}

/** Returns the results of the notifications as parameters of an SQL statement. */
function resultColumns(all: readonly Leased[]): readonly SqlValue[] {
  return [
    all.map(({ result }) => result?.at ?? null),
    all.map(({ result }) => result?.outcome ?? null),
    all.map(({ result }) => (result?.reason ? withoutNul(result.reason) : null)),
  ]
}

function claimOf(row: ClaimRow): PushClaim {
  const { station, device: id, platform, pushToken, tokenDead, tries, refusals, count, time } = row
  const from = row.source.toString()
  const newest = {
    from,
    ...destinationOf(station, row.addressee.toString()),
    seqId: row.seqId.toString(),
    text: row.text,
    stamp: time,
  }
  return {
    station,
    device: { id, platform, pushToken, tokenDead },
    unpushed: { count, newest },
    tries,
    refusals,
    // The durations from the database are negative if its clock was set back.
    firstTryMs: Math.max(0, row.firstTryMs),
    waitedMs: Math.max(0, row.waitedMs),
  }
}
