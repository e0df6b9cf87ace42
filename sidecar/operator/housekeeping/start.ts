import type { Clock } from '../../clock.ts'
import type { StationsSettings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import type { Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { createExpiry } from './expiry.ts'
import { createHousekeeper } from './housekeeper.ts'
import { runOnSchedule } from './schedule.ts'

interface Parts {
  readonly store: Pick<Store, 'housekeeping' | 'leases'>
  readonly settings: StationsSettings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

const MS_PER_HOUR = 3_600_000

/** Has the housekeeping done from now on; what it returns ends that, a run under way included. Closing twice is fine. */
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
