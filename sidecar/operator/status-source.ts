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
  /** Obstacles that other parts report. */
  readonly problems: () => readonly Obstacle[]
  readonly lastBackupAt: () => number | undefined
  /** Time of the last packet from APRS-IS, in milliseconds since 1970; undefined before the first. */
  readonly lastPacketAt: () => number | undefined
  /** Status of each configured gateway. */
  readonly gateways: () => readonly GatewayStatus[]
  /** Number of notifications that are being sent. */
  readonly pushesUnderWay: () => number
  /** In milliseconds since 1970; undefined without TLS. */
  readonly certificateExpiresAt: () => number | undefined
  readonly recent: Pick<RecentEvents, 'list'>
  readonly metrics: Pick<Metrics, 'value'>
  readonly clock: Clock
}

/** Time limit of each query, in milliseconds. Without an answer, page and metrics are shown without that value. */
const ANSWER_WITHIN_MS = 1000
/** With less free space on the disk, storing a message may fail. */
const SCARCE_BYTES = 256_000

/**
 * Collects what the operator's port shows. Its values are read when they are requested; it holds only the start time.
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

  /** Tries a write first if the disk is nearly full, because there may have been none since. */
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

  /** Returns `fallback` if the answer fails or takes too long. */
  #soon<Answer, Fallback>(answer: Promise<Answer>, fallback: Fallback): Promise<Answer | Fallback> {
    return within<Answer | Fallback>(ANSWER_WITHIN_MS, answer, this.#parts.clock).catch(() => fallback)
  }
}
