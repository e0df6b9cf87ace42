import type { Platform } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'

/** One connection to APRS-IS, as far as the operator's port shows it. */
export interface UpstreamConnection {
  /** The call that it logs in as. */
  readonly call: string
  readonly state: string
  readonly verified: boolean
  /** The server's call; null while not logged in. */
  readonly server: string | null
  /** Wall-clock time of the last change of `state`, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly filter: string
  /** How many stations the filter names. */
  readonly stations: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** What the operator's port shows of the connection to APRS-IS. */
export interface UpstreamState {
  readonly connected: boolean
  readonly verified: boolean
  /** Every station for which there is room is in a filter that a server confirmed. */
  readonly ready: boolean
  readonly paused: boolean
  /** Stations for which there is no room. */
  readonly leftOut: number
  readonly connections: readonly UpstreamConnection[]
}

interface GaugeSources {
  readonly upstream: () => UpstreamState
  readonly stations: () => Readonly<Record<Platform, number>>
  readonly maxStations: number
  /** Size of the database file; NaN when it cannot be told. */
  readonly databaseBytes: () => Promise<number>
  readonly pushesUnderWay: () => number
}

/** Numbers that `/metrics` shows as they are when it is asked. */
export function installGauges(
  metrics: Pick<Metrics, 'gauge'>,
  { upstream, stations, maxStations, databaseBytes, pushesUnderWay }: GaugeSources,
): void {
  const flag = (name: string, help: string, read: (state: UpstreamState) => boolean) =>
    metrics.gauge(name, help, () => Number(read(upstream())))
  const total = (read: (connection: UpstreamConnection) => number) =>
    upstream().connections.reduce((sum, connection) => sum + read(connection), 0)
  metrics.gauge('stations_android', 'Registered stations with an Android phone', () => stations().android)
  metrics.gauge('stations_ios', 'Registered stations with an iPhone', () => stations().ios)
  metrics.gauge('stations_max', 'How many stations may be registered', () => maxStations)
  metrics.gauge('stations_left_out', 'Stations for which the upstream filters have no room', () => upstream().leftOut)
  metrics.gauge('upstream_connections', 'Connections to APRS-IS servers', () => upstream().connections.length)
  metrics.gauge('upstream_filter_bytes', 'Size of all upstream filters together', () =>
    total(({ filter }) => Buffer.byteLength(filter)),
  )
  flag('upstream_connected', '1 while at least one APRS-IS login is up', ({ connected }) => connected)
  flag('upstream_verified', '1 while acks can be sent', ({ verified }) => verified)
  flag('upstream_ready', '1 while every station is in a confirmed filter', ({ ready }) => ready)
  flag('upstream_paused', '1 while reading waits for the database', ({ paused }) => paused)
  metrics.gauge('pushes_under_way', 'Stations that are being notified, or wait for their turn', pushesUnderWay)
  metrics.gauge('database_bytes', 'Size of the database file', databaseBytes)
  metrics.gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
}
