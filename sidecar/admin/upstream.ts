import type { Platform } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'

/** What the operator's port shows of the connection to APRS-IS. */
export interface UpstreamState {
  readonly connected: boolean
  readonly verified: boolean
  /** Every station for which there is room is in a filter that a server confirmed. */
  readonly ready: boolean
  readonly paused: boolean
  /** Stations for which there is no room. */
  readonly leftOut: number
  readonly connections: readonly unknown[]
}

/** Why messages may not arrive, as `/readyz` says it; empty when they do. Codes are never renamed or reused. */
export function upstreamObstacles({ connected, ready }: Pick<UpstreamState, 'connected' | 'ready'>): readonly string[] {
  if (!connected) return ['upstream_not_connected']
  return ready ? [] : ['upstream_filter_unconfirmed']
}

interface GaugeSources {
  readonly upstream: () => UpstreamState
  readonly stations: () => Readonly<Record<Platform, number>>
}

/** Numbers that `/metrics` shows as they are when it is asked. */
export function installGauges(metrics: Metrics, { upstream, stations }: GaugeSources): void {
  const flag = (name: string, help: string, read: (state: UpstreamState) => boolean) =>
    metrics.gauge(name, help, () => Number(read(upstream())))
  metrics.gauge('stations_android', 'Registered stations with an Android phone', () => stations().android)
  metrics.gauge('stations_ios', 'Registered stations with an iPhone', () => stations().ios)
  metrics.gauge('stations_left_out', 'Stations for which the upstream filters have no room', () => upstream().leftOut)
  metrics.gauge('upstream_connections', 'Connections to APRS-IS servers', () => upstream().connections.length)
  flag('upstream_connected', '1 while at least one APRS-IS login is up', ({ connected }) => connected)
  flag('upstream_verified', '1 while acks can be sent', ({ verified }) => verified)
  flag('upstream_ready', '1 while every station is in a confirmed filter', ({ ready }) => ready)
  flag('upstream_paused', '1 while reading waits for the database', ({ paused }) => paused)
  metrics.gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
}
