import type { GatewayStatus } from './gateways.ts'
import type { UpstreamState } from './upstream.ts'

/** What keeps the sidecar from its work: the code that `/readyz` gives, never renamed or reused, and what it means. */
export const OBSTACLES = {
  upstream_not_connected: 'No login to APRS-IS is up: no messages arrive.',
  upstream_filter_unconfirmed: 'Some stations are not yet in a filter that an APRS-IS server confirmed.',
  upstream_no_call:
    'No call is left to log in with for a further connection to APRS-IS: some stations get no messages until aprsis.callsign is another one, or fewer stations share it.',
  upstream_listener_missing:
    'This instance does not listen to APRS-IS, and fewer others do than should: messages may be missed.',
  stations_left_out:
    'Some stations have no room in the filters that aprsis.maxConnections allows: their messages do not arrive.',
  messages_not_stored: 'The database takes nothing: messages are neither stored nor acknowledged.',
  database_replaced:
    'The file of the database was deleted or replaced: what is stored now goes with this process, and is not acknowledged.',
  push_tokens_doubted:
    'A push gateway calls every token dead: its credentials are probably of another app. Its phones are not notified; notifications wait.',
  push_credentials_refused: 'A push gateway does not accept our credentials: its phones are not notified.',
} as const
export type Obstacle = keyof typeof OBSTACLES

/** The states that are judged. */
export interface Judged {
  readonly upstream: Pick<UpstreamState, 'connected' | 'ready' | 'leftOut' | 'listener' | 'listeners'>
  /** Why the database takes nothing; undefined while it does. */
  readonly storeFault: string | undefined
  readonly gateways: readonly Pick<GatewayStatus, 'credentialsRefused' | 'tokensDoubted'>[]
}

/** Empty when messages arrive, are stored, and are told to the phones. */
export function obstaclesTo({ upstream, storeFault, gateways }: Judged): readonly Obstacle[] {
  const found: Obstacle[] = []
  if (upstream.listener === null) {
    if (upstream.listeners.held < upstream.listeners.wanted) found.push('upstream_listener_missing')
  } else if (!upstream.connected) found.push('upstream_not_connected')
  else if (!upstream.ready) found.push('upstream_filter_unconfirmed')
  if (upstream.leftOut > 0) found.push('stations_left_out')
  if (storeFault !== undefined) found.push('messages_not_stored')
  if (gateways.some(({ credentialsRefused }) => credentialsRefused)) found.push('push_credentials_refused')
  if (gateways.some(({ tokensDoubted }) => tokensDoubted)) found.push('push_tokens_doubted')
  return found
}
