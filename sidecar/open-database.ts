import { hostname } from 'node:os'
import type { Clock } from './clock.ts'
import { isPostgresAddress } from './config/postgres-address.ts'
import type { Settings } from './config/settings.ts'
import type { Log } from './log.ts'
import type { Store } from './messages/store.ts'
import type { Metrics } from './metrics.ts'
import { openStore } from './store/sqlite/open-store.ts'

/** Opens the store in whatever `database` names. Rejects with a `StoreError`. */
export async function openDatabase(
  settings: Settings,
  clock: Clock,
  log: Log,
  metrics: Pick<Metrics, 'count'>,
): Promise<Store> {
  const named = { ...settings, instance: settings.instance ?? hostname() }
  if (!isPostgresAddress(settings.database)) return openStore(settings.database, named, clock, log)
  // Its client library is optional: loaded where it is needed only.
  const { openPostgresStore } = await import('./store/postgres/open-postgres.ts')
  return openPostgresStore(named, clock, log, metrics)
}
