import type { Platform } from '../../messages/store.ts'
import type { CounterName } from '../../metrics.ts'
import type { RecentEvent } from '../watch/recent-events.ts'
import type { GatewayStatus } from './gateways.ts'
import type { SharedDatabase } from './instances.ts'
import type { Obstacle } from './obstacles.ts'
import type { UpstreamState } from './upstream.ts'

/** The counters that the status page shows. */
export const COUNTED = [
  'lines_received',
  'messages_stored',
  'messages_duplicate',
  'messages_lost',
  'pushes_accepted',
  'pushes_retried',
  'pushes_refused',
  'pushes_given_up',
  'api_requests',
  'api_errors',
  'api_dropped',
] as const satisfies readonly CounterName[]
/** Since the start. */
export type Counts = Readonly<Record<(typeof COUNTED)[number], number>>

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
  readonly stations: number
  readonly devices: Readonly<Record<Platform, number>>
  readonly maxStations: number
  /** Those that are configured. */
  readonly gateways: readonly GatewayStatus[]
  /** Devices that are being notified right now. */
  readonly pushesUnderWay: number
  /** The code of the store's fault while it takes nothing. */
  readonly storeFault: string | undefined
  /** NaN when it cannot be told. */
  readonly databaseBytes: number
  /** What the disk of the database has room for; NaN if it cannot be told, as with PostgreSQL. */
  readonly diskFreeBytes: number
  /** Undefined without TLS. */
  readonly certificateExpiresAt: number | undefined
  /** Undefined where this process has its database for itself. */
  readonly shared: SharedDatabase | undefined
  /** When the newest backup was made; undefined while there is none, `off` where none are. */
  readonly lastBackupAt: number | undefined | 'off'
  readonly memoryBytes: number
  readonly counts: Counts
  /** Newest first. */
  readonly events: readonly RecentEvent[]
}
