import type { Clock } from '../../../clock.ts'
import { PUSH_LEASE_MS, type PushClaim, type PushQueue } from '../../../messages/push-queue.ts'
import { deviceKey } from '../../../messages/station.ts'
import { type DeviceId, PLATFORMS, type Platform, type Station, type StationKey } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { tryAgain } from '../database/try-again.ts'
import { openKnownPushes } from './known-pushes.ts'
import { openPushTimers } from './push-timers.ts'

const STATEMENT_ROWS = 1000
// More than devices can be claimed at a time.
const WAITING_ROWS = 100_000

const CLAIM = `
  SELECT station, device, platform, push_token AS "pushToken", token_dead AS "tokenDead", lease_until AS lease, tries, refusals,
    since_first_try AS "firstTryMs", waited AS "waitedMs", count, time, source, seq_id AS "seqId", text
  FROM claim_pushes($1, $2, $3, $4, true)`
const SETTLE = 'SELECT station AS key, due_in AS "dueInMs" FROM settle_pushes($1, $2, $3, $4, $5)'
const PUT_OFF = 'SELECT put_off_pushes($1, $2, $3, $4, $5, $6)'

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
}

/** `lease`: which of several claims of the device of that key it is. */
interface Leased {
  readonly claim: PushClaim
  readonly key: string
  readonly lease: number
}

interface PutOff extends Leased {
  readonly next: Parameters<PushQueue['retryLater']>[1]
}

interface PushQueueParts {
  readonly database: Queries
  /** What this process holds leases as; no other has the same. */
  readonly owner: string
  readonly coalesceMs: number
  readonly stationOf: (key: StationKey) => Pick<Station, 'devices'> | undefined
  readonly clock: Clock
}

/** The queue as the rest of the store sees it. */
export interface SharedPushQueue extends PushQueue {
  /** This instance has stored something for these stations: nobody else knows that yet. */
  stored(stations: readonly StationKey[]): void
}

/**
 * The queue in the table that all instances claim from. Each has timers for what it stored or put off itself; what
 * others left, it finds by asking once a second.
 */
export function openPushQueue({ database, owner, coalesceMs, stationOf, clock }: PushQueueParts): SharedPushQueue {
  const leases = new WeakMap<PushClaim, number>()
  const known = openKnownPushes(clock)
  const timers = openPushTimers(clock)

  const settling = openBatches<Leased, void>({
    async run(told) {
      const values = [
        owner,
        told.map(({ key }) => key),
        told.map(({ claim }) => claim.unpushed.newest.stamp),
        told.map(({ lease }) => lease),
        coalesceMs,
      ]
      const settle = () => database.query<{ key: string; dueInMs: number }>(SETTLE, values)
      // Else these phones are told again, by whoever claims them when the leases end.
      const left = await tryAgain(settle, clock.elapsed() + PUSH_LEASE_MS, clock)
      const dueInMs = new Map(left.map((one) => [one.key, one.dueInMs]))
      for (const { key, claim } of told) released(key, claim.device.platform, dueInMs.get(key))
      return told.map(() => undefined)
    },
    most: STATEMENT_ROWS,
    parallel: 1,
    mostWaiting: WAITING_ROWS,
  })

  const puttingOff = openBatches<PutOff, void>({
    async run(ones) {
      await database.query(PUT_OFF, [
        owner,
        ones.map(({ key }) => key),
        ones.map(({ lease }) => lease),
        ones.map(({ next }) => Math.round(next.delayMs)),
        ones.map(({ next }) => next.tries),
        ones.map(({ next }) => next.refusals),
      ])
      for (const { key, claim, next } of ones) {
        known.wait(key, claim.device.platform, next.delayMs)
        timers.ring(next.delayMs)
      }
      return ones.map(() => undefined)
    },
    most: STATEMENT_ROWS,
    parallel: 1,
    mostWaiting: WAITING_ROWS,
  })

  function released(key: string, platform: Platform, dueInMs: number | undefined): void {
    if (dueInMs === undefined) known.forget(key)
    else {
      known.wait(key, platform, dueInMs)
      timers.ring(dueInMs)
    }
  }

  /** The entry stays leased: whoever claims it when that is over has it again. */
  async function orLater<T>({ key, claim }: Leased, work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      known.wait(key, claim.device.platform, PUSH_LEASE_MS)
      throw error
    })
  }

  const leasedBy = (claim: PushClaim): Leased => {
    return { claim, key: deviceKey(claim.station, claim.device.id), lease: leases.get(claim) ?? 0 }
  }

  return {
    async claim(room) {
      const lanes = PLATFORMS.filter((platform) => room[platform] > 0)
      if (lanes.length === 0) return []
      const asked = clock.elapsed()
      const rooms = lanes.map((platform) => Math.floor(room[platform]))
      const rows = await database.query<ClaimRow>(CLAIM, [owner, lanes, rooms, PUSH_LEASE_MS])
      const claims = rows.map((row) => {
        const claim = claimOf(row)
        leases.set(claim, row.lease)
        known.claimed(deviceKey(row.station, row.device), row.platform)
        return claim
      })
      for (const platform of lanes) {
        const taken = claims.filter(({ device }) => device.platform === platform).length
        // Whatever else was due, others have taken.
        if (taken < room[platform]) known.forgetDue(platform, asked)
      }
      return claims
    },
    settle: (claim) => orLater(leasedBy(claim), settling.add(leasedBy(claim))),
    retryLater: (claim, next) => orLater(leasedBy(claim), puttingOff.add({ ...leasedBy(claim), next })),
    onDue: timers.onRing,
    waiting: known.waiting,
    stored(stations) {
      let any = false
      for (const key of stations)
        for (const { id, platform } of stationOf(key)?.devices ?? [])
          any = known.add(deviceKey(key, id), platform, coalesceMs) || any
      if (any) timers.ring(coalesceMs)
    },
    close: timers.close,
  }
}

function claimOf(row: ClaimRow): PushClaim {
  const {
    station,
    device: id,
    platform,
    pushToken,
    tokenDead,
    tries,
    refusals,
    firstTryMs,
    waitedMs,
    count,
    time,
  } = row
  const from = row.source.toString()
  const newest = { from, to: station, seqId: row.seqId.toString(), text: row.text, stamp: time }
  return {
    station,
    device: { id, platform, pushToken, tokenDead },
    unpushed: { count, newest },
    tries,
    refusals,
    // The database's clock may have been set back.
    firstTryMs: Math.max(0, firstTryMs),
    waitedMs: Math.max(0, waitedMs),
  }
}
