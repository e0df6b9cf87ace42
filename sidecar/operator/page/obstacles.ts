import type { GatewayStatus } from './gateways.ts'
import type { UpstreamState } from './upstream.ts'

/** The reasons why the sidecar may not be ready, by the codes of `/readyz`, which are never renamed or reused. */
export const OBSTACLES = {
  upstream_not_connected:
    'The sidecar is not logged in to APRS-IS, so no messages arrive. Check aprsis.host and the network.',
  upstream_filter_unconfirmed:
    'No APRS-IS server has confirmed a filter with all stations yet, so some may miss messages. This usually takes seconds.',
  upstream_no_call:
    'No callsign is left for a further connection to APRS-IS, so some stations get no messages. Set aprsis.callsign to a callsign whose SSIDs fewer stations use.',
  upstream_listener_missing:
    'Fewer instances listen to APRS-IS than aprsis.listeners asks for, so messages may be missed. Start the missing instances, or check their connection to aprsis.host.',
  stations_left_out:
    'The filters have no room for some stations, so their messages do not arrive. Raise aprsis.maxConnections.',
  messages_not_stored: 'The database accepts no writes, so messages are neither stored nor acknowledged.',
  database_replaced:
    'The database file was deleted or replaced. New messages are lost when this process ends, so they are not acknowledged. Before you restart the sidecar, do what the remedy in the log event database-gone says.',
  push_tokens_doubted:
    'A push gateway rejects every token, probably because its credentials belong to another app. Its notifications wait. Check the credentials in push.',
  push_credentials_refused:
    'A push gateway rejects the credentials in push, so its phones are not notified. Correct them.',
} as const
export type Obstacle = keyof typeof OBSTACLES

/** The state from which {@link obstaclesTo} derives why the sidecar does not fully work. */
export interface ObservedState {
  readonly upstream: Pick<UpstreamState, 'connected' | 'ready' | 'leftOut' | 'listener' | 'listeners'>
  /** The code of the database's fault; undefined while writes work. */
  readonly storeFault: string | undefined
  readonly gateways: readonly Pick<GatewayStatus, 'credentialsRefused' | 'tokensDoubted'>[]
}

/** Returns the obstacles. The list is empty if messages arrive, are stored, and are pushed to phones. */
export function obstaclesTo({ upstream, storeFault, gateways }: ObservedState): readonly Obstacle[] {
  const obstacles: Obstacle[] = []
  if (upstream.listener === null) {
    if (upstream.listeners.held < upstream.listeners.wanted) obstacles.push('upstream_listener_missing')
  } else if (!upstream.connected) obstacles.push('upstream_not_connected')
  else if (!upstream.ready) obstacles.push('upstream_filter_unconfirmed')
  if (upstream.leftOut > 0) obstacles.push('stations_left_out')
  if (storeFault !== undefined) obstacles.push('messages_not_stored')
  if (gateways.some(({ credentialsRefused }) => credentialsRefused)) obstacles.push('push_credentials_refused')
  if (gateways.some(({ tokensDoubted }) => tokensDoubted)) obstacles.push('push_tokens_doubted')
  return obstacles
}
