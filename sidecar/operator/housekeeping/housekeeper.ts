import type { Clock } from '../../clock.ts'
import type { StationsSettings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import type { Leases } from '../../messages/leases.ts'
import type { Housekeeping, Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { createExpiry, type Expiry } from './expiry.ts'
import { underLease } from './lease.ts'
import { runOnSchedule } from './schedule.ts'

interface HousekeeperParts {
  readonly housekeeping: Pick<Housekeeping, 'expire' | 'tidy' | 'presentSince'>
  /**
   * The leases of the store. The process that holds a lease does the housekeeping for all processes that share the
   * store.
   */
  readonly leases: Pick<Leases, 'hold'>
  readonly expiry: Expiry
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Removes expired stations and orphaned rows, one run at a time. Logs the first failed run of an outage, and the next
 * success.
 */
export class Housekeeper {
  readonly #parts: HousekeeperParts
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #isFailing = false

  constructor(parts: HousekeeperParts) {
    this.#parts = parts
  }

  /** Starts a housekeeping run, or joins the current one. Resolves at the end of the run; never rejects. */
  run(): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve()
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Ends the current housekeeping run at its next pause, and prevents later runs. Idempotent. */
  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #runOnce(): Promise<void> {
    const { leases, clock, metrics, log } = this.#parts
    try {
      await underLease(leases, 'housekeeping', clock, async () => {
        await this.#expire()
        await this.#tidy()
      })
      if (this.#isFailing) log.info('housekeeping-recovered', 'Housekeeping works again.')
      this.#isFailing = false
    } catch (error) {
      metrics.count('housekeeping_failed')
      if (!this.#isFailing) log.error('housekeeping-failed', 'Housekeeping failed; retrying every hour.', { error })
      this.#isFailing = true
    }
  }

  async #expire(): Promise<void> {
    const { housekeeping, expiry, clock, metrics, log } = this.#parts
    const sharedSince = await housekeeping.presentSince?.()
    const beforeMs = expiry.cutoff(clock.now(), sharedSince)
    if (beforeMs === undefined) return
    const stations = await housekeeping.expire(beforeMs, this.#stopping.signal)
    if (stations === 0) return
    metrics.count('stations_expired', stations)
    log.info('stations-expired', 'Removed stations that did not register within stations.expireAfterHours.', {
      stations,
    })
  }

  async #tidy(): Promise<void> {
    const { housekeeping, metrics, log } = this.#parts
    const rows = await housekeeping.tidy(this.#stopping.signal)
    if (rows === 0) return
    metrics.count('orphans_removed', rows)
    log.info('orphans-removed', 'Removed orphaned rows from the database.', { rows })
  }
}

interface HousekeepingParts {
  readonly store: Pick<Store, 'housekeeping' | 'leases'>
  readonly settings: StationsSettings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

const MS_PER_HOUR = 3_600_000

/** Starts hourly housekeeping. `close` ends it, including a run in progress. Idempotent. */
export function startHousekeeping({ store, settings, clock, metrics, log }: HousekeepingParts): {
  close(): Promise<void>
} {
  const { housekeeping, leases } = store
  const expiry = createExpiry(settings.expireAfterHours * MS_PER_HOUR, clock.now())
  const housekeeper = new Housekeeper({ housekeeping, leases, expiry, clock, metrics, log })
  const schedule = runOnSchedule(() => housekeeper.run(), clock)
  return {
    async close() {
      await schedule.close()
      await housekeeper.close()
    },
  }
}
