import { type Clock, type Timer, within } from '../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { horizonsMs } from '../../messages/duplicate-horizons.ts'
import type { SharedStore, StoreSettings } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { connectPostgres, type Postgres, type PostgresSettings, WHOLE_TABLE_MS } from './database/connection.ts'
import { warnOfLoss } from './database/durability.ts'
import { openHousekeeping } from './housekeeping.ts'
import { type OwnInstance, openInstance } from './instances/instances.ts'
import { openLeases } from './instances/leases.ts'
import { openKeyring } from './keyring.ts'
import { openAppends } from './messages/appends.ts'
import { openCursors } from './messages/cursors.ts'
import { openHistory, openServerTime } from './messages/history.ts'
import { openReader } from './messages/reader.ts'
import { openPushQueue } from './pushes/push-queue.ts'
import { migrate } from './schema/migrations.ts'
import { openRegistry, type Registry } from './stations/registry.ts'

export interface PostgresStoreSettings extends StoreSettings, PostgresSettings {}

/** For how long a start tries a database that is away: a failover takes less. */
const START_MS = 60_000
const TRY_MS = 1000
/** What a database that fails over says meanwhile. */
const PASSING: ReadonlySet<StoreErrorCode> = new Set(['database_unreachable', 'database_read_only', 'database_older'])
/** While nobody writes, nobody else finds out that messages could not be stored. */
const PROBE_EVERY_MS = 5000
/** For what is under way to be stored, before the connections go. */
const LAST_MS = 300

const FIT_RINGS = 'SELECT fit_rings($1)'

/**
 * Opens the store in the PostgreSQL database of `settings`, which other instances may have open: makes the schema
 * there, or brings it to the newest version. A database that is away is tried for a minute, or until `stopping` is
 * aborted.
 *
 * Rejects with a {@link StoreError}: `database_unreachable`, one of the refusals of PostgreSQL, `database_untrusted`,
 * `database_read_only`, `database_pooled`, `database_newer`, `database_too_old`, `instance_taken` or `pg_missing`.
 */
export async function openPostgresStore(
  settings: PostgresStoreSettings,
  clock: Clock,
  log: Log,
  metrics: Pick<Metrics, 'count'> = { count() {} },
  stopping?: AbortSignal,
): Promise<SharedStore> {
  // Follows `stopping` only while the store opens. Later, parts that are stopping still use the store, and its opener
  // closes it after them.
  const start = new AbortController()
  const stopEarly = () => start.abort()
  stopping?.addEventListener('abort', stopEarly, { once: true })
  try {
    return await openUntil(start.signal, settings, clock, log, metrics)
  } finally {
    stopping?.removeEventListener('abort', stopEarly)
  }
}

async function openUntil(
  stopping: AbortSignal,
  settings: PostgresStoreSettings,
  clock: Clock,
  log: Log,
  metrics: Pick<Metrics, 'count'>,
): Promise<SharedStore> {
  const postgres = await connectPostgres(settings, clock, log, stopping)
  // The clock's timers keep no process alive, and while it starts nothing else may do so yet.
  const alive = setInterval(() => undefined, START_MS)
  try {
    return buildStore(await begin(postgres, settings, clock, log, stopping), settings, clock, metrics)
  } catch (error) {
    await postgres.close()
    throw error
  } finally {
    clearInterval(alive)
  }
}

/** What has talked to the database. */
interface Begun {
  readonly postgres: Postgres
  readonly instance: OwnInstance
  readonly stations: Registry
}

async function begin(
  postgres: Postgres,
  settings: PostgresStoreSettings,
  clock: Clock,
  log: Log,
  stopping: AbortSignal,
): Promise<Begun> {
  const until = clock.elapsed() + START_MS
  while (true) {
    try {
      return await tryToBegin(postgres, settings, clock, log)
    } catch (error) {
      const passes = error instanceof StoreError && PASSING.has(error.code)
      if (!passes || clock.elapsed() + TRY_MS > until) throw error
      // After a stop, the next try says that the connections are closed.
      await pause(TRY_MS, clock, stopping)
    }
  }
}

/** Resolves after `ms`, or once `stopping` is aborted. */
function pause(ms: number, clock: Clock, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel()
      stopping.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.after(ms, end)
    stopping.addEventListener('abort', end, { once: true })
  })
}

async function tryToBegin(postgres: Postgres, settings: PostgresStoreSettings, clock: Clock, log: Log): Promise<Begun> {
  await migrate(postgres)
  // All rings at once, where another size was set, which may take a while.
  await postgres.onOwnConnection(({ query }) => query(FIT_RINGS, [settings.history.perStation], WHOLE_TABLE_MS))
  await warnOfLoss(postgres, log)
  const instance = await openInstance(postgres, settings.instance, clock, log)
  try {
    return { postgres, instance, stations: await openRegistry({ postgres, settings, clock, log }) }
  } catch (error) {
    await instance.close()
    throw error
  }
}

function buildStore(
  { postgres, instance, stations }: Begun,
  settings: PostgresStoreSettings,
  clock: Clock,
  metrics: Pick<Metrics, 'count'>,
): SharedStore {
  const { history: kept, ack, push } = settings
  const reader = openReader({ query: postgres.read }, postgres.timeline)
  const cursors = openCursors({ database: postgres, reader, clock })
  const pushes = openPushQueue({
    database: postgres,
    owner: instance.owner,
    coalesceMs: push.coalesceMs,
    stationOf: stations.get,
    clock,
  })
  const appends = openAppends({
    database: postgres,
    history: kept,
    ack,
    coalesceMs: push.coalesceMs,
    clock,
    onStored: pushes.stored,
    onRetry: () => metrics.count('append_retries'),
  })
  let closing: Promise<void> | undefined
  let probing: Timer
  probeNowAndThen()

  function probeNowAndThen(): void {
    probing = clock.after(PROBE_EVERY_MS, probeNowAndThen)
    void postgres.probe()
  }

  async function shutDown(): Promise<void> {
    probing.cancel()
    stations.close()
    pushes.close()
    // What is not written costs nothing, and leases lapse.
    const last = Promise.all([appends.idle().then(cursors.seal), instance.close()])
    await within(LAST_MS, last, clock).catch(() => undefined)
    await postgres.close()
  }

  return {
    isShared: true,
    stations,
    history: openHistory({ appends, reader, cursors, perStation: kept.perStation }),
    pushes,
    stamps: openServerTime({ query: postgres.read }),
    cursors,
    housekeeping: openHousekeeping({
      database: postgres,
      stations,
      duplicateMs: horizonsMs(kept).longest,
      ackMs: ack.minIntervalMs,
    }),
    leases: openLeases(postgres, instance, clock),
    instances: instance,
    keyring: openKeyring(postgres),
    fault: () => postgres.fault() ?? (instance.isTaken() ? 'instance_taken' : undefined),
    probe: postgres.probe,
    close() {
      closing ??= shutDown()
      return closing
    },
  }
}
