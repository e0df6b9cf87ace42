import { type Html, html } from './html.ts'
import type { OtherListener, UpstreamState } from './upstream.ts'

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

function row({ instance, servers, calls }: OtherListener): Html {
  return html`<tr><th scope="row">${instance}</th><td>${servers.join(', ') || '–'}</td><td>${calls.join(', ') || '–'}</td></tr>`
}
