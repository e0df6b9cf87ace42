import type { HttpListener } from '../api/http-listener.ts'
import { type Clock, within } from '../clock.ts'
import { isPostgresAddress, shownAddress } from '../config/postgres-address.ts'
import type { Settings } from '../config/settings.ts'
import { VERSION } from '../config/version.ts'
import type { StationKey, Store } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { installGauges } from './gauges.ts'
import type { GatewayStatus } from './page/gateways.ts'
import type { SharingInstance } from './page/instances.ts'
import { type Obstacle, obstaclesTo } from './page/obstacles.ts'
import { COUNTED, type Counts, type Status } from './page/status.ts'
import { renderStatusPage } from './page/status-page.ts'
import type { UpstreamState } from './page/upstream.ts'
import { type BackupOutcome, serveAdmin } from './server.ts'
import { watchEventLoop } from './watch/event-loop.ts'
import type { RecentEvents } from './watch/recent-events.ts'

interface OperatorParts {
  readonly settings: Settings
  readonly store: Store
  readonly upstream: () => UpstreamState
  /** What else keeps the sidecar from its work. */
  readonly problems: () => readonly Obstacle[]
  readonly backups: { make(): Promise<BackupOutcome>; lastMadeAt(): number | undefined }
  /** Wall-clock time of the last packet from APRS-IS, in milliseconds since 1970; undefined before the first. */
  readonly lastPacketAt: () => number | undefined
  /** Those that are configured. */
  readonly gateways: () => readonly GatewayStatus[]
  readonly pushesUnderWay: () => number
  /** In milliseconds since 1970; undefined without TLS. */
  readonly certificateExpiresAt: () => number | undefined
  readonly recent: RecentEvents
  readonly metrics: Metrics
  readonly clock: Clock
}

/**
 * How long the database may take to be asked for something, in milliseconds; without it, page and metrics come all the
 * same.
 */
const ANSWER_WITHIN_MS = 1000
/** Less room than this on the disk, and a message may find none. */
const SCARCE_BYTES = 256_000

/** Gathers what the operator's port shows, and serves it. */
export async function openOperatorPort(parts: OperatorParts): Promise<HttpListener> {
  const { settings, store, upstream, gateways, pushesUnderWay, lastPacketAt, metrics, clock, recent } = parts
  const startedAt = clock.now()
  const devices = () => store.stations.countDevices()
  const maxStations = settings.stations.max
  /** With hardly any room left on the disk nobody may have written since: then it is tried. */
  async function present(): Promise<readonly Obstacle[]> {
    if ((await diskFreeBytes()) < SCARCE_BYTES) await within(ANSWER_WITHIN_MS, store.probe(), clock).catch(() => {})
    return obstacles()
  }
  const obstacles = () => [
    ...obstaclesTo({ upstream: upstream(), storeFault: store.fault(), gateways: gateways() }),
    ...parts.problems(),
  ]
  const diskFreeBytes = () => within(ANSWER_WITHIN_MS, store.housekeeping.freeBytes(), clock).catch(() => Number.NaN)
  const instances = () =>
    within(ANSWER_WITHIN_MS, store.instances.list(), clock).catch(
      (): readonly SharingInstance[] | undefined => undefined,
    )
  const databaseBytes = () => within(ANSWER_WITHIN_MS, store.housekeeping.sizeBytes(), clock).catch(() => Number.NaN)

  installGauges(metrics, {
    upstream,
    obstacles,
    stations: store.stations.countStations,
    devices,
    maxStations,
    gateways,
    pushesUnderWay,
    databaseBytes,
    instances: async () => (await instances())?.length ?? Number.NaN,
    diskFreeBytes,
    certificateExpiresAt: parts.certificateExpiresAt,
    ...(settings.backup.folder !== null && { lastBackupAt: parts.backups.lastMadeAt }),
  })
  const eventLoop = watchEventLoop(metrics, clock)
  const stopWatching = (): void => {
    eventLoop.close()
  }

  async function status(): Promise<Status> {
    return {
      version: VERSION,
      callsign: settings.aprsis.callsign,
      now: clock.now(),
      startedAt,
      obstacles: await present(),
      upstream: upstream(),
      lastPacketAt: lastPacketAt(),
      stations: store.stations.size,
      devices: devices(),
      maxStations,
      gateways: gateways(),
      pushesUnderWay: pushesUnderWay(),
      storeFault: store.fault(),
      databaseBytes: await databaseBytes(),
      diskFreeBytes: await diskFreeBytes(),
      certificateExpiresAt: parts.certificateExpiresAt(),
      shared: isPostgresAddress(settings.database)
        ? { address: shownAddress(settings.database), instances: await instances(), own: store.instances.name }
        : undefined,
      lastBackupAt: settings.backup.folder === null ? 'off' : parts.backups.lastMadeAt(),
      memoryBytes: process.memoryUsage.rss(),
      counts: Object.fromEntries(COUNTED.map((name) => [name, metrics.value(name)])) as Counts,
      events: recent.list(),
    }
  }

  /** A database that is away is no reason for a restart, in which what waits for it would be lost. */
  const alive = async () => {
    if (!isPostgresAddress(settings.database)) await store.stations.avatars([settings.aprsis.callsign])
  }

  /** Reading decides: on a full disk phones still get what there is. */
  const answers = () => {
    const [somebody = settings.aprsis.callsign] = store.stations.keys()
    return store.history.since(somebody, store.stations.get(somebody)?.devices[0]?.id ?? '', 0)
  }

  async function unregister(station: StationKey): Promise<boolean> {
    if ((await store.stations.remove(station)) === 'none') return false
    metrics.count('stations_unregistered')
    recent.log.info('station-ended', 'An operator ended a station with all its devices.', { station })
    return true
  }

  try {
    const listener = await serveAdmin({
      admin: settings.admin,
      alive,
      answers,
      obstacles: present,
      backUp: parts.backups.make,
      unregister,
      statusPage: async (refresh) => renderStatusPage(await status(), refresh),
      metrics,
      clock,
      log: recent.log,
    })
    return {
      ...listener,
      close() {
        stopWatching()
        return listener.close()
      },
    }
  } catch (error) {
    stopWatching()
    throw error
  }
}
