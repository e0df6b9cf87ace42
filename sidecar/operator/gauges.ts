import { VERSION } from '../config/version.ts'
import type { Platform } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import type { GatewayStatus } from './page/gateways.ts'
import { OBSTACLES, type Obstacle } from './page/obstacles.ts'
import type { UpstreamConnection, UpstreamState } from './page/upstream.ts'

interface GaugeSources {
  readonly upstream: () => UpstreamState
  readonly obstacles: () => readonly Obstacle[]
  /** Returns the number of stations by platform. A station is counted under the platform of its oldest device only. */
  readonly stations: () => Readonly<Record<Platform, number>>
  readonly devices: () => Readonly<Record<Platform, number>>
  readonly maxStations: number
  readonly gateways: () => readonly GatewayStatus[]
  readonly pushesUnderWay: () => number
  /** Size of the database file, and free space on its disk, in bytes; NaN if unknown. */
  readonly databaseBytes: () => Promise<number>
  readonly diskFreeBytes: () => Promise<number>
  /** Returns the number of processes that share the database; NaN if unknown. */
  readonly instances: () => Promise<number>
  /** Returns the expiry of the API's certificate, in milliseconds since 1970; undefined without TLS. */
  readonly certificateExpiresAt: () => number | undefined
  /**
   * Returns the time of the newest backup, in milliseconds since 1970; undefined if there is none. Absent if backups
   * are off.
   */
  readonly lastBackupAt?: () => number | undefined
}

type GaugeMetrics = Pick<Metrics, 'gauge' | 'gauges'>

const MS_PER_S = 1000

/** Adds the gauges to `metrics`. Their values are read at each request for `/metrics`. */
export function installGauges(metrics: GaugeMetrics, sources: GaugeSources): void {
  installUpstreamGauges(metrics, sources)
  installPushGauges(metrics, sources)
  const { stations, devices, maxStations, obstacles, databaseBytes, diskFreeBytes, certificateExpiresAt } = sources
  const byPlatform = (name: string, help: string, read: GaugeSources['devices']) =>
    metrics.gauges(name, help, ['platform'], () =>
      Object.entries(read()).map(([platform, value]) => ({ labels: { platform }, value })),
    )
  byPlatform('stations', 'Registered stations, by the platform of the oldest device', stations)
  byPlatform('devices', 'Devices of the registered stations', devices)
  metrics.gauge(
    'stations_android',
    'Stations whose oldest device is on Android; use mesh_companion_stations instead',
    () => stations().android,
  )
  metrics.gauge(
    'stations_ios',
    'Stations whose oldest device is on iOS; use mesh_companion_stations instead',
    () => stations().ios,
  )
  metrics.gauge('stations_max', 'Limit of registered stations', () => maxStations)
  metrics.gauges('not_ready', '1 for each reason that /readyz reports', ['reason'], () => {
    const reasons = new Set<string>(obstacles())
    return Object.keys(OBSTACLES).map((reason) => ({ labels: { reason }, value: Number(reasons.has(reason)) }))
  })
  metrics.gauge('instances', 'Processes that share the database, this one included', sources.instances)
  metrics.gauge('database_bytes', 'Size of the database file', databaseBytes)
  metrics.gauge('disk_free_bytes', 'Free space on the disk of the database', diskFreeBytes)
  // TLS cannot be turned on or off after the start, so this is checked only once.
  if (certificateExpiresAt() !== undefined)
    metrics.gauge(
      'certificate_expiry_timestamp_seconds',
      'When the certificate of the API expires',
      () => (certificateExpiresAt() ?? Number.NaN) / MS_PER_S,
    )
  const { lastBackupAt } = sources
  if (lastBackupAt)
    metrics.gauge(
      'backup_last_success_timestamp_seconds',
      'When the newest backup was made',
      () => (lastBackupAt() ?? Number.NaN) / MS_PER_S,
    )
  metrics.gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
  metrics.gauges('build_info', 'Always 1; the label has the version', ['version'], () => [
    { labels: { version: VERSION }, value: 1 },
  ])
}

function installUpstreamGauges(metrics: GaugeMetrics, { upstream }: GaugeSources): void {
  const flag = (name: string, help: string, read: (state: UpstreamState) => boolean) =>
    metrics.gauge(name, help, () => Number(read(upstream())))
  const total = (read: (connection: UpstreamConnection) => number) =>
    upstream().connections.reduce((sum, connection) => sum + read(connection), 0)
  metrics.gauge('stations_left_out', 'Stations that the upstream filters have no room for', () => upstream().leftOut)
  metrics.gauge('upstream_connections', 'Connections to APRS-IS servers', () => upstream().connections.length)
  metrics.gauge('upstream_filter_bytes', 'Size of all upstream filters together', () =>
    total(({ filter }) => Buffer.byteLength(filter)),
  )
  flag('listener', '1 while this instance listens to APRS-IS', ({ listener }) => listener !== null)
  metrics.gauge('listeners', 'Instances that listen to APRS-IS', () => upstream().listeners.held)
  metrics.gauge('listeners_wanted', 'Instances that should listen to APRS-IS', () => upstream().listeners.wanted)
  flag('upstream_connected', '1 while the instance is logged in to APRS-IS', ({ connected }) => connected)
  flag('upstream_verified', '1 while acks can be sent', ({ verified }) => verified)
  flag(
    'upstream_ready',
    '1 while the filters at the servers contain every station that they have room for',
    ({ ready }) => ready,
  )
  flag(
    'upstream_paused',
    '1 while the sidecar does not read from APRS-IS because the database is too slow',
    ({ paused }) => paused,
  )
}

function installPushGauges(metrics: GaugeMetrics, { gateways, pushesUnderWay }: GaugeSources): void {
  const each = (name: string, help: string, read: (gateway: GatewayStatus) => number | undefined) =>
    metrics.gauges(name, help, ['platform'], () =>
      gateways().flatMap((gateway) => {
        const value = read(gateway)
        return value === undefined ? [] : { labels: { platform: gateway.platform }, value }
      }),
    )
  each('push_gateway_refusing', '1 while a gateway refuses notifications', ({ state }) => Number(state === 'refusing'))
  each('push_gateway_failing', '1 while a gateway is unreachable or over a quota', ({ state }) =>
    Number(state === 'failing'),
  )
  each(
    'pushes_waiting',
    'Devices whose notification is being sent, or waits for its window, a free slot or a retry',
    ({ waiting }) => waiting,
  )
  each('push_last_accepted_timestamp_seconds', 'When a gateway last accepted a notification', ({ lastAcceptedAt }) =>
    lastAcceptedAt === undefined ? undefined : lastAcceptedAt / MS_PER_S,
  )
  metrics.gauge('pushes_under_way', 'Devices whose notification is being sent', pushesUnderWay)
}
