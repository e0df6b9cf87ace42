import { type Html, html } from './html.ts'

/** One connection to APRS-IS, as far as the operator's port shows it. */
export interface UpstreamConnection {
  /** The call that it logs in as. */
  readonly callsign: string
  readonly state: string
  readonly verified: boolean
  /** The server's call; null while not logged in. */
  readonly server: string | null
  /** Wall-clock time of the last change of `state`, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly filter: string
  /** Logins that a server took and ended within the last 15 minutes. */
  readonly recentDrops: number
  /** How many stations the filter names. */
  readonly stations: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Another instance that listens to APRS-IS, as it was seen last. */
export interface OtherListener {
  /** From 0. */
  readonly slot: number
  readonly instance: string
  /** The calls of the servers that it is logged in to, and its own calls there. */
  readonly servers: readonly string[]
  readonly callsigns: readonly string[]
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
  /** Which of the listeners this instance is, from 0; null while others listen. */
  readonly listener: number | null
  /** How many instances listen, this one included, and how many should. */
  readonly listeners: { readonly held: number; readonly wanted: number }
  readonly others: readonly OtherListener[]
}

type Listening = Pick<UpstreamState, 'listener' | 'listeners' | 'others'>

/** Which instances listen to APRS-IS; nothing where this one does so alone, and should. */
export function renderListeners({ listener, listeners, others }: Listening): Html | undefined {
  if (listener !== null && listeners.wanted === 1 && others.length === 0) return undefined
  const own = listener === null ? 'This instance does not listen.' : 'This instance listens.'
  const line = html`<p class="soft">${own} ${listeners.held} of ${listeners.wanted} listeners are at work.</p>`
  if (others.length === 0) return line
  return html`${line}<div class="card scroll" role="region" aria-label="Other listeners" tabindex="0"><table>
<thead><tr><th scope="col">Instance</th><th scope="col">Servers</th><th scope="col">Logins</th></tr></thead>
<tbody>${others.map(row)}</tbody>
</table></div>`
}

function row({ instance, servers, callsigns }: OtherListener): Html {
  return html`<tr><th scope="row">${instance}</th><td>${servers.join(', ') || '–'}</td><td>${callsigns.join(', ') || '–'}</td></tr>`
}
