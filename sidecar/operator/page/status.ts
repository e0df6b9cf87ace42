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
/** Counts since the start. */
export type Counts = Readonly<Record<(typeof COUNTED)[number], number>>

/** The values of the status page at one moment. Times are in milliseconds since 1970. */
export interface Status {
  readonly version: string
  /** The sidecar's own login callsign. */
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
  /** The configured gateways. */
  readonly gateways: readonly GatewayStatus[]
  /** Notifications that are being sent. */
  readonly pushesUnderWay: number
  /** The code of the store's fault; undefined while writes work. */
  readonly storeFault: string | undefined
  /** NaN if unknown. */
  readonly databaseBytes: number
  /** Free space on the database's disk; NaN if unknown, as with PostgreSQL. */
  readonly diskFreeBytes: number
  /** Undefined without TLS. */
  readonly certificateExpiresAt: number | undefined
  /** Undefined if this process has the database to itself. */
  readonly shared: SharedDatabase | undefined
  /** Time of the newest backup; undefined if there is none, `off` if backups are off. */
  readonly lastBackupAt: number | undefined | 'off'
  readonly memoryBytes: number
  readonly counts: Counts
  /** Newest first. */
  readonly events: readonly RecentEvent[]
}
