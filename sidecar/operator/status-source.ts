import { type Clock, within } from '../clock.ts'
import { isPostgresAddress, shownAddress } from '../config/postgres-address.ts'
import type { Settings } from '../config/settings.ts'
import { VERSION } from '../config/version.ts'
import type { Store } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import type { GatewayStatus } from './page/gateways.ts'
import type { SharingInstance } from './page/instances.ts'
import { type Obstacle, obstaclesTo } from './page/obstacles.ts'
import { COUNTED, type Counts, type Status } from './page/status.ts'
import type { UpstreamState } from './page/upstream.ts'
import type { RecentEvents } from './watch/recent-events.ts'

export interface StatusParts {
  readonly settings: Settings
  readonly store: Store
  readonly upstream: () => UpstreamState
  /** Returns why the sidecar does not fully work, as other parts of the sidecar report it. */
  readonly problems: () => readonly Obstacle[]
  readonly lastBackupAt: () => number | undefined
  /** Returns the time of the last packet from APRS-IS, in milliseconds since 1970; undefined before the first. */
  readonly lastPacketAt: () => number | undefined
  /** Returns the status of each configured gateway. */
  readonly gateways: () => readonly GatewayStatus[]
  /** Returns the number of notifications that are being sent. */
  readonly pushesUnderWay: () => number
  /** Returns the expiry of the API's certificate, in milliseconds since 1970; undefined without TLS. */
  readonly certificateExpiresAt: () => number | undefined
  readonly recent: Pick<RecentEvents, 'list'>
  readonly metrics: Pick<Metrics, 'value'>
  readonly clock: Clock
}

/**
 * Time limit of each query, in milliseconds. A value that does not arrive in time is left out of the page and the
 * metrics.
 */
const ANSWER_WITHIN_MS = 1000
/** Limit of free disk space in bytes. Below it, storing a message may fail. */
const SCARCE_BYTES = 256_000

/**
 * Collects the values that the operator's port shows. It reads them at each request, and remembers only the time of the
 * start.
 */
export class StatusSource {
  readonly #parts: StatusParts
  readonly #startedAt: number

  constructor(parts: StatusParts) {
    this.#parts = parts
    this.#startedAt = parts.clock.now()
  }

  obstacles(): readonly Obstacle[] {
    const { upstream, store, gateways, problems } = this.#parts
    return [...obstaclesTo({ upstream: upstream(), storeFault: store.fault(), gateways: gateways() }), ...problems()]
  }

  /** Returns the current obstacles. If the disk is nearly full, makes a test write first, to notice a full disk. */
  async currentObstacles(): Promise<readonly Obstacle[]> {
    if ((await this.diskFreeBytes()) < SCARCE_BYTES) await this.#soon(this.#parts.store.probe(), undefined)
    return this.obstacles()
  }

  diskFreeBytes(): Promise<number> {
    return this.#soon(this.#parts.store.housekeeping.freeBytes(), Number.NaN)
  }

  databaseBytes(): Promise<number> {
    return this.#soon(this.#parts.store.housekeeping.sizeBytes(), Number.NaN)
  }

  instances(): Promise<readonly SharingInstance[] | undefined> {
    return this.#soon(this.#parts.store.instances.list(), undefined)
  }

  async status(): Promise<Status> {
    const { settings, store, upstream, gateways, pushesUnderWay, lastPacketAt, lastBackupAt } = this.#parts
    const { certificateExpiresAt, recent, metrics, clock } = this.#parts
    const obstacles = await this.currentObstacles()
    return {
      version: VERSION,
      callsign: settings.aprsis.callsign,
      now: clock.now(),
      startedAt: this.#startedAt,
      obstacles,
      upstream: upstream(),
      lastPacketAt: lastPacketAt(),
      stations: store.stations.size,
      devices: store.stations.countDevices(),
      maxStations: settings.stations.max,
      gateways: gateways(),
      pushesUnderWay: pushesUnderWay(),
      storeFault: store.fault(),
      databaseBytes: await this.databaseBytes(),
      diskFreeBytes: await this.diskFreeBytes(),
      certificateExpiresAt: certificateExpiresAt(),
      shared: isPostgresAddress(settings.database)
        ? {
            address: shownAddress(settings.database),
            instances: await this.instances(),
            ownName: store.instances.name,
          }
        : undefined,
      lastBackupAt: settings.backup.folder === null ? 'off' : lastBackupAt(),
      memoryBytes: process.memoryUsage.rss(),
      counts: Object.fromEntries(COUNTED.map((name) => [name, metrics.value(name)])) as Counts,
      events: recent.list(),
    }
  }

  /** Resolves like `answer`, or to `fallback` if `answer` rejects or takes too long. */
  #soon<Answer, Fallback>(answer: Promise<Answer>, fallback: Fallback): Promise<Answer | Fallback> {
    return within<Answer | Fallback>(ANSWER_WITHIN_MS, answer, this.#parts.clock).catch(() => fallback)
  }
}
