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
  /** Of the processes that share the store one does it for all. */
  readonly leases: Pick<Leases, 'hold'>
  readonly expiry: Expiry
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

/** Keeps registry and database in order, a run at a time. */
export interface Housekeeper {
  /** Never rejects. A call while a run is under way gets that run. */
  run(): Promise<void>
  /** Stops a run at its next pause, and starts none any more. Twice is fine. */
  close(): Promise<void>
}

export function createHousekeeper({
  housekeeping,
  leases,
  expiry,
  clock,
  metrics,
  log,
}: HousekeeperParts): Housekeeper {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let failing = false

  async function expire(): Promise<void> {
    const { presentSince } = housekeeping
    const sharedSince = presentSince && (await presentSince())
    const beforeMs = expiry.cutoff(clock.now(), sharedSince)
    if (beforeMs === undefined) return
    const stations = await housekeeping.expire(beforeMs, stopping.signal)
    if (stations === 0) return
    metrics.count('stations_expired', stations)
    log.info('stations-expired', 'Stations that had not registered for too long were forgotten.', { stations })
  }

  async function tidy(): Promise<void> {
    const rows = await housekeeping.tidy(stopping.signal)
    if (rows === 0) return
    metrics.count('orphans_removed', rows)
    log.info('orphans-removed', 'Rows of the database that belonged to no station were removed.', { rows })
  }

  async function runOnce(): Promise<void> {
    try {
      await underLease(leases, 'housekeeping', clock, async () => {
        await expire()
        await tidy()
      })
      if (failing) log.info('housekeeping-recovered', 'The housekeeping works again.')
      failing = false
    } catch (error) {
      metrics.count('housekeeping_failed')
      // An outage of days is told once, not every hour.
      if (!failing)
        log.error('housekeeping-failed', 'The housekeeping failed; it is tried again every hour.', { error })
      failing = true
    }
  }

  return {
    run() {
      if (stopping.signal.aborted) return Promise.resolve()
      running ??= runOnce().finally(() => {
        running = undefined
      })
      return running
    },
    async close() {
      stopping.abort()
      await running
    },
  }
}

interface Parts {
  readonly store: Pick<Store, 'housekeeping' | 'leases'>
  readonly settings: StationsSettings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

const MS_PER_HOUR = 3_600_000

/**
 * Has the housekeeping done from now on; what it returns ends that, a run under way included. Closing twice is fine.
 */
export function startHousekeeping({ store, settings, clock, metrics, log }: Parts): { close(): Promise<void> } {
  const expiry = createExpiry(settings.expireAfterHours * MS_PER_HOUR, clock.now())
  const housekeeper = createHousekeeper({ ...store, expiry, clock, metrics, log })
  const schedule = runOnSchedule(housekeeper.run, clock)
  return {
    async close() {
      await schedule.close()
      await housekeeper.close()
    },
  }
}
