import type { Platform } from '../../messages/store.ts'
import type { CounterName } from '../../metrics.ts'
import type { RecentEvent } from '../watch/recent-events.ts'
import type { GatewayStatus } from './gateways.ts'
import type { SharedDatabase } from './instances.ts'
import type { Obstacle } from './obstacles.ts'
import type { UpstreamState } from './upstream.ts'

/** The counters that appear on the status page. */
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
/** The value of each counter in `COUNTED` since the start. */
export type Counts = Readonly<Record<(typeof COUNTED)[number], number>>

/** The values that the status page shows. Times are in milliseconds since 1970. */
export interface Status {
  readonly version: string
  /** The sidecar's own login callsign. */
  readonly callsign: string
  readonly now: number
  readonly startedAt: number
  readonly obstacles: readonly Obstacle[]
  readonly upstream: UpstreamState
  /** Time of the last packet from APRS-IS; undefined before the first. */
  readonly lastPacketAt: number | undefined
  readonly stations: number
  readonly devices: Readonly<Record<Platform, number>>
  readonly maxStations: number
  /** One entry per configured gateway. */
  readonly gateways: readonly GatewayStatus[]
  /** Number of notifications that are being sent. */
  readonly pushesUnderWay: number
  /** The code of the store's fault; undefined while writes work. */
  readonly storeFault: string | undefined
  /** Size of the database file; NaN if unknown. */
  readonly databaseBytes: number
  /** Free bytes on the database's disk; NaN if unknown, for example with PostgreSQL. */
  readonly diskFreeBytes: number
  /** Expiry of the API's certificate; undefined without TLS. */
  readonly certificateExpiresAt: number | undefined
  /** The database shared with other instances; undefined if only this process uses it. */
  readonly shared: SharedDatabase | undefined
  /** Time of the newest backup; undefined if there is none, `off` if backups are off. */
  readonly lastBackupAt: number | undefined | 'off'
  readonly memoryBytes: number
  readonly counts: Counts
  /** Recent warnings and errors, newest first. */
  readonly events: readonly RecentEvent[]
}
