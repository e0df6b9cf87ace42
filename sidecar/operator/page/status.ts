import type { Platform } from '../../messages/store.ts'
import type { Minute } from '../watch/history.ts'
import type { RecentEvent } from '../watch/recent-events.ts'
import type { GatewayStatus } from './gateways.ts'
import type { SharedDatabase } from './instances.ts'
import type { Obstacle } from './obstacles.ts'
import type { UpstreamState } from './upstream.ts'

/** Everything that the status page shows, at one moment. Times are in milliseconds since 1970. */
export interface Status {
  readonly version: string
  /** The sidecar's own login. */
  readonly callsign: string
  readonly now: number
  readonly startedAt: number
  readonly obstacles: readonly Obstacle[]
  readonly upstream: UpstreamState
  /** When the last packet arrived; undefined before the first. */
  readonly lastPacketAt: number | undefined
  readonly stations: Readonly<Record<Platform, number>>
  readonly maxStations: number
  /** Those that are configured. */
  readonly gateways: readonly GatewayStatus[]
  /** Stations that are being notified right now. */
  readonly pushesUnderWay: number
  /** NaN when it cannot be told. */
  readonly databaseBytes: number
  /** Undefined where this process has its database for itself. */
  readonly shared: SharedDatabase | undefined
  /** When the newest backup was made; undefined while there is none, `off` where none are. */
  readonly lastBackupAt: number | undefined | 'off'
  readonly memoryBytes: number
  readonly minutes: readonly Minute[]
  /** Newest first. */
  readonly events: readonly RecentEvent[]
}
