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
import { type Appends, openAppends } from './messages/appends.ts'
import { openCursors, type SharedCursors } from './messages/cursors.ts'
import { openHistory, openServerTime } from './messages/history.ts'
import { openReader } from './messages/reader.ts'
import { openReceivedAcks, type SharedReceivedAcks } from './messages/received-acks.ts'
import { openPushQueue, type SharedPushQueue } from './pushes/push-queue.ts'
import { migrate } from './schema/migrations.ts'
import { openRegistry, type Registry } from './stations/registry.ts'
import { openReports } from './stations/station-reports.ts'

export interface PostgresStoreSettings extends StoreSettings, PostgresSettings {}

/** Time in milliseconds for which a start tries to reach the database. A failover takes less. */
const START_MS = 60_000
const TRY_MS = 1000
/** Codes of errors that occur during a failover and then end. */
const PASSING: ReadonlySet<StoreErrorCode> = new Set(['database_unreachable', 'database_read_only', 'database_older'])
const PROBE_EVERY_MS = 5000
/** Time in milliseconds that a stop waits for messages that are being stored. */
const LAST_MS = 300

const FIT_RINGS = 'SELECT fit_rings($1)'

/**
 * Opens the store in the PostgreSQL database of `settings`, which instances may share. Creates the schema or upgrades
 * it. Retries an unreachable database for a minute, or until `stopping` is aborted.
 *
 * Rejects with a {@link StoreError}: `database_unreachable`, one of PostgreSQL's refusals, `database_untrusted`,
 * `database_read_only`, `database_pooled`, `database_newer`, `database_outdated`, `database_too_old`, `instance_taken`
 * or `pg_missing`.
 */
export async function openPostgresStore(
  settings: PostgresStoreSettings,
  clock: Clock,
  log: Log,
  metrics: Pick<Metrics, 'count'> = { count() {} },
  stopping?: AbortSignal,
): Promise<SharedStore> {
  // `stopping` is obeyed only while the store opens. Later, the caller closes the store, after the other modules have
  // stopped using it.
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
  // Without this timer, the process could end while the store opens, because the timers of `clock` do not keep it
  // alive.
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

/** The parts of the store that {@link begin} has opened. */
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
      // After a stop, the next attempt rejects, because the connections are closed.
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
  // If the ring size in the settings has changed, trims all rings, which may take minutes.
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
  const { history, ack, push } = settings
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
    history,
    ack,
    coalesceMs: push.coalesceMs,
    clock,
    onStored: pushes.stored,
    onRetry: () => metrics.count('append_retries'),
  })
  const receivedAcks = openReceivedAcks({ database: postgres, history, clock })
  const probes = startProbes(postgres, clock)
  let closing: Promise<void> | undefined
  return {
    isShared: true,
    stations,
    history: openHistory({ appends, reader, cursors, perStation: history.perStation }),
    receivedAcks,
    pushes,
    reports: openReports({ database: postgres, stations }),
    stamps: openServerTime({ query: postgres.read }),
    cursors,
    housekeeping: openHousekeeping({
      database: postgres,
      stations,
      duplicateMs: horizonsMs(history).longest,
      ackMs: ack.minIntervalMs,
    }),
    leases: openLeases(postgres, instance, clock),
    instances: instance,
    keyring: openKeyring(postgres),
    fault: () => postgres.fault() ?? (instance.isTaken() ? 'instance_taken' : undefined),
    probe: postgres.probe,
    close() {
      closing ??= closeAll({ postgres, instance, stations, pushes, appends, receivedAcks, cursors, probes, clock })
      return closing
    },
  }
}

/**
 * Probes the database regularly. Without probes, a database that refuses writes would go unnoticed while no messages
 * arrive.
 */
function startProbes(postgres: Pick<Postgres, 'probe'>, clock: Clock): { stop(): void } {
  let timer: Timer
  const probe = (): void => {
    timer = clock.after(PROBE_EVERY_MS, probe)
    void postgres.probe()
  }
  probe()
  return { stop: () => timer.cancel() }
}

interface OpenedParts extends Begun {
  readonly pushes: SharedPushQueue
  readonly appends: Appends
  readonly receivedAcks: SharedReceivedAcks
  readonly cursors: SharedCursors
  readonly probes: { stop(): void }
  readonly clock: Clock
}

async function closeAll(parts: OpenedParts): Promise<void> {
  const { postgres, instance, stations, pushes, appends, receivedAcks, cursors, probes, clock } = parts
  probes.stop()
  stations.close()
  pushes.close()
  // The store waits a limited time for these last writes, and then closes. A lost cursor does no harm, and leases
  // expire by themselves.
  const last = Promise.all([appends.idle().then(cursors.seal), receivedAcks.idle(), instance.close()])
  await within(LAST_MS, last, clock).catch(() => undefined)
  await postgres.close()
}
