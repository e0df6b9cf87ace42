import type { Clock } from '../../../clock.ts'
import { PUSH_LEASE_MS, type PushClaim, type PushQueue } from '../../../messages/push-queue.ts'
import { PLATFORMS, type Platform, type StationKey } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { tryAgain } from '../database/try-again.ts'
import { openKnownPushes } from './known-pushes.ts'
import { openPushTimers } from './push-timers.ts'

const STATEMENT_ROWS = 1000
// More than stations can be claimed at a time.
const WAITING_ROWS = 100_000

const CLAIM = `
  SELECT station AS key, platform, push_token AS "pushToken", token_dead AS "tokenDead", lease_until AS lease, tries, refusals,
    since_first_try AS "firstTryMs", waited AS "waitedMs", count, time, source, seq_id AS "seqId", text
  FROM claim_pushes($1, $2, $3, $4)`
const SETTLE = 'SELECT station, due_in AS "dueInMs" FROM settle_pushes($1, $2, $3, $4, $5)'
const PUT_OFF = 'SELECT put_off_pushes($1, $2, $3, $4, $5, $6)'

interface ClaimRow {
  readonly key: StationKey
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

/** `lease`: which of several claims of one station it is. */
interface Leased {
  readonly claim: PushClaim
  readonly lease: number
}

interface PutOff extends Leased {
  readonly next: Parameters<PushQueue['later']>[1]
}

interface PushQueueParts {
  readonly database: Queries
  /** What this process holds leases as; no other has the same. */
  readonly owner: string
  readonly coalesceMs: number
  readonly platformOf: (station: StationKey) => Platform | undefined
  readonly clock: Clock
}

/** The queue as the rest of the store sees it. */
export interface SharedPushQueue extends PushQueue {
  /** This instance has stored something for these stations: nobody else knows that yet. */
  stored(stations: readonly StationKey[]): void
}

/**
 * The queue in the table that all instances claim from. Each has timers for what it stored or put off itself; what others left, it finds
 * by asking once a second.
 */
export function openPushQueue({ database, owner, coalesceMs, platformOf, clock }: PushQueueParts): SharedPushQueue {
  const leases = new WeakMap<PushClaim, number>()
  const known = openKnownPushes(clock)
  const timers = openPushTimers(clock)

  const settling = openBatches<Leased, void>({
    async run(told) {
      const values = [
        owner,
        told.map(({ claim }) => claim.station),
        told.map(({ claim }) => claim.unpushed.newest.time),
        told.map(({ lease }) => lease),
        coalesceMs,
      ]
      const settle = () => database.query<{ station: StationKey; dueInMs: number }>(SETTLE, values)
      // Else these phones are told again, by whoever claims them when the leases end.
      const left = await tryAgain(settle, clock.elapsed() + PUSH_LEASE_MS, clock)
      const dueInMs = new Map(left.map((one) => [one.station, one.dueInMs]))
      for (const { claim } of told) released(claim, dueInMs.get(claim.station))
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
        ones.map(({ claim }) => claim.station),
        ones.map(({ lease }) => lease),
        ones.map(({ next }) => Math.round(next.delayMs)),
        ones.map(({ next }) => next.tries),
        ones.map(({ next }) => next.refusals),
      ])
      for (const { claim, next } of ones) {
        known.wait(claim.station, claim.device.platform, next.delayMs, true)
        timers.ring(next.delayMs)
      }
      return ones.map(() => undefined)
    },
    most: STATEMENT_ROWS,
    parallel: 1,
    mostWaiting: WAITING_ROWS,
  })

  function released({ station: key, device: { platform } }: PushClaim, dueInMs: number | undefined): void {
    if (dueInMs === undefined) known.forget(key)
    else {
      known.wait(key, platform, dueInMs, false)
      timers.ring(dueInMs)
    }
  }

  /** The entry stays leased: whoever claims it when that is over has it again. */
  async function orLater<T>(claim: PushClaim, work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      known.wait(claim.station, claim.device.platform, PUSH_LEASE_MS, false)
      throw error
    })
  }

  const leaseOf = (claim: PushClaim) => leases.get(claim) ?? 0

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
        known.claimed(row.key, row.platform)
        return claim
      })
      for (const platform of lanes) {
        const taken = claims.filter(({ device }) => device.platform === platform).length
        // Whatever else was due, others have taken.
        if (taken < room[platform]) known.forgetDue(platform, asked)
      }
      return claims
    },
    settle: (claim) => orLater(claim, settling.add({ claim, lease: leaseOf(claim) })),
    later: (claim, next) => orLater(claim, puttingOff.add({ claim, lease: leaseOf(claim), next })),
    onDue: timers.onRing,
    load: known.load,
    stored(stations) {
      let any = false
      for (const key of stations) {
        const platform = platformOf(key)
        if (platform) any = known.add(key, platform, coalesceMs) || any
      }
      if (any) timers.ring(coalesceMs)
    },
    close: timers.close,
  }
}

function claimOf(row: ClaimRow): PushClaim {
  const { key, platform, pushToken, tokenDead, tries, refusals, firstTryMs, waitedMs, count, time } = row
  const from = row.source.toString()
  const newest = { from, to: key, seqId: row.seqId.toString(), text: row.text, time }
  return {
    station: key,
    device: { id: '', platform, pushToken, tokenDead },
    unpushed: { count, newest },
    tries,
    refusals,
    // The database's clock may have been set back.
    firstTryMs: Math.max(0, firstTryMs),
    waitedMs: Math.max(0, waitedMs),
  }
}
