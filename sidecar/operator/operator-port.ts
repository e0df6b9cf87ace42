import type { HttpListener } from '../api/http-listener.ts'
import { isPostgresAddress } from '../config/postgres-address.ts'
import type { Settings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { Station, StationKey, Store } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import type { TestOutcome } from '../push/delivery/test-notification.ts'
import { installGauges } from './gauges.ts'
import type { Backups } from './housekeeping/backups.ts'
import { renderStatusPage } from './page/status-page.ts'
import { serveAdmin } from './server.ts'
import { StationAnswers } from './station-answers.ts'
import { type StatusParts, StatusSource } from './status-source.ts'
import { watchEventLoop } from './watch/event-loop.ts'
import type { RecentEvents } from './watch/recent-events.ts'

interface OperatorParts extends Omit<StatusParts, 'lastBackupAt' | 'recent' | 'metrics'> {
  /** Sends a test notification to each device of the station. */
  readonly sendTests: (station: Station, from: StationKey, text: string) => Promise<readonly TestOutcome[]>
  readonly backups: Pick<Backups, 'make' | 'lastMadeAt'>
  readonly recent: RecentEvents
  readonly metrics: Metrics
}

/** Adds the gauges to the metrics, and starts the operator's port. */
export async function openOperatorPort(parts: OperatorParts): Promise<HttpListener> {
  const { settings, store, backups, metrics, clock, recent } = parts
  const source = statusSourceOf(parts)
  installGauges(metrics, {
    upstream: parts.upstream,
    obstacles: () => source.obstacles(),
    stations: () => store.stations.countStations(),
    devices: () => store.stations.countDevices(),
    maxStations: settings.stations.max,
    gateways: parts.gateways,
    pushesUnderWay: parts.pushesUnderWay,
    databaseBytes: () => source.databaseBytes(),
    instances: async () => (await source.instances())?.length ?? Number.NaN,
    diskFreeBytes: () => source.diskFreeBytes(),
    certificateExpiresAt: parts.certificateExpiresAt,
    ...(settings.backup.folder !== null && { lastBackupAt: () => backups.lastMadeAt() }),
  })
  const eventLoop = watchEventLoop(metrics, clock)
  try {
    const { url, loopback, close } = await serveAdmin({
      admin: settings.admin,
      checkAlive: () => checkAlive(store, settings),
      checkReads: () => checkReads(store, settings),
      obstacles: () => source.currentObstacles(),
      backUp: () => backups.make(),
      unregister: (station) => unregister(station, store, metrics, recent.log),
      stations: new StationAnswers({
        reports: store.reports,
        notify: (station, text) => notify(station, text, parts),
        now: () => clock.now(),
      }),
      statusPage: async (refresh) => renderStatusPage(await source.status(), refresh),
      metrics,
      clock,
      log: recent.log,
    })
    return {
      url,
      loopback,
      close() {
        eventLoop.close()
        return close()
      },
    }
  } catch (error) {
    eventLoop.close()
    throw error
  }
}

function statusSourceOf(parts: OperatorParts): StatusSource {
  const { settings, store, upstream, problems, backups, lastPacketAt, gateways, pushesUnderWay } = parts
  const { certificateExpiresAt, recent, metrics, clock } = parts
  return new StatusSource({
    settings,
    store,
    upstream,
    problems,
    lastBackupAt: () => backups.lastMadeAt(),
    lastPacketAt,
    gateways,
    pushesUnderWay,
    certificateExpiresAt,
    recent,
    metrics,
    clock,
  })
}

/**
 * Health check: rejects if the SQLite file cannot be read. Ignores PostgreSQL, because a restart after a failed check
 * would only lose waiting messages.
 */
async function checkAlive(store: Store, settings: Settings): Promise<void> {
  if (!isPostgresAddress(settings.database)) await store.stations.avatars([settings.aprsis.callsign])
}

/**
 * Reads the history of a station, and rejects if that fails. Does not test a write, because phones still get the stored
 * messages while the disk is full.
 */
async function checkReads(store: Store, settings: Settings): Promise<void> {
  const [station = settings.aprsis.callsign] = store.stations.keys()
  await store.history.since(station, store.stations.get(station)?.devices[0]?.id ?? '', 0)
}

async function unregister(station: StationKey, store: Store, metrics: Metrics, log: Log): Promise<boolean> {
  if ((await store.stations.remove(station)) === 'none') return false
  metrics.count('stations_unregistered')
  log.info('station-ended', 'An operator removed a station with all its devices.', { station })
  return true
}

/** Sends a test notification. Resolves with undefined if the station is not registered. */
async function notify(
  key: StationKey,
  text: string | undefined,
  { store, settings, sendTests }: Pick<OperatorParts, 'store' | 'settings' | 'sendTests'>,
): Promise<readonly TestOutcome[] | undefined> {
  const station = await store.stations.find(key)
  const { callsign } = settings.aprsis
  return station && sendTests(station, callsign, text || `Test notification of the sidecar ${callsign}`)
}
