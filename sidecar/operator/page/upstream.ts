import { type Html, html } from './html.ts'

/** A connection to APRS-IS, as the operator's port shows it. */
export interface UpstreamConnection {
  /** The sidecar's login callsign. */
  readonly callsign: string
  readonly state: string
  readonly verified: boolean
  /** Name of the APRS-IS server; null while the sidecar is not logged in. */
  readonly server: string | null
  /** Wall-clock time of the last change of `state`, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly filter: string
  /** Number of connections that a server closed after it had accepted the login, within the last 15 minutes. */
  readonly recentDrops: number
  /** Number of stations in the connection's APRS-IS filter. */
  readonly stations: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Another instance that listens to APRS-IS, with its last known state. */
export interface OtherListener {
  /** The instance's number among the instances that listen to APRS-IS, from 0. */
  readonly slot: number
  readonly instance: string
  /**
   * The APRS-IS servers to which the instance is logged in. `callsigns`: the callsigns that it uses for these logins.
   */
  readonly servers: readonly string[]
  readonly callsigns: readonly string[]
}

/**
 * The state of this instance's connections to APRS-IS and of all instances that listen to it, as the operator's port
 * shows it.
 */
export interface UpstreamState {
  readonly connected: boolean
  readonly verified: boolean
  /** Whether the filters set at the APRS-IS servers contain all stations, except those counted in `leftOut`. */
  readonly ready: boolean
  readonly paused: boolean
  /** Number of stations missing from the APRS-IS filters, because the filters are full. */
  readonly leftOut: number
  readonly connections: readonly UpstreamConnection[]
  /** This instance's number among the instances that listen to APRS-IS, from 0; null while it does not listen. */
  readonly listener: number | null
  /**
   * `held`: number of instances that listen to APRS-IS, including this one. `wanted`: number of instances that should
   * listen.
   */
  readonly listeners: { readonly held: number; readonly wanted: number }
  readonly others: readonly OtherListener[]
}

type Listening = Pick<UpstreamState, 'listener' | 'listeners' | 'others'>

/**
 * Renders which instances listen to APRS-IS. Returns undefined if this instance is the only listener, and no other
 * listener is wanted.
 */
export function renderListeners({ listener, listeners, others }: Listening): Html | undefined {
  if (listener !== null && listeners.wanted === 1 && others.length === 0) return undefined
  const thisInstance =
    listener === null ? 'This instance does not listen to APRS-IS.' : 'This instance listens to APRS-IS.'
  const line = html`<p class="soft">${thisInstance} ${listeners.held} of ${listeners.wanted} listeners are active.</p>`
  if (others.length === 0) return line
  return html`${line}<div class="card scroll" role="region" aria-label="Other listeners" tabindex="0"><table>
<thead><tr><th scope="col">Instance</th><th scope="col">Servers</th><th scope="col">Logins</th></tr></thead>
<tbody>${others.map(row)}</tbody>
</table></div>`
}

function row({ instance, servers, callsigns }: OtherListener): Html {
  return html`<tr><th scope="row">${instance}</th><td>${servers.join(', ') || '–'}</td><td>${callsigns.join(', ') || '–'}</td></tr>`
}
