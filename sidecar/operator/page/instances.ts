import { readNote } from '../../aprsis/listeners/listeners.ts'
import { duration } from './format.ts'
import { type Html, html } from './html.ts'

/** A process of those that share a database. Times are in milliseconds since 1970. */
export interface SharingInstance {
  readonly name: string
  readonly startedAt: number
  /**
   * What it says of itself, as JSON: its `version`, whether it may `listen`, and the place of a `listener` that it has.
   */
  readonly note: string
}

/** What processes share. */
export interface SharedDatabase {
  /** Where it is, without user and password. */
  readonly address: string
  /** By name; undefined when it cannot be told. */
  readonly instances: readonly SharingInstance[] | undefined
  /** This one's name. */
  readonly own: string
}

export function renderInstances({ address, instances, own }: SharedDatabase, now: number): Html {
  const where = html`<p class="soft">They share the PostgreSQL database ${address}.</p>`
  if (instances === undefined) return html`${where}<p>It does not say which ones are there.</p>`
  return html`${where}<div class="card scroll" role="region" aria-label="Instances" tabindex="0"><table>
<thead><tr><th scope="col">Instance</th><th scope="col">APRS-IS</th><th scope="col">Version</th><th scope="col">Up for</th></tr></thead>
<tbody>${instances.map((one) => row(one, own, now))}</tbody>
</table></div>`
}

function row({ name, startedAt, note }: SharingInstance, own: string, now: number): Html {
  const { version, listen, listener } = readNote(note)
  const here = name === own ? ' (this one)' : ''
  const part = typeof listener === 'number' ? 'listens' : listen === true ? 'stands by' : 'does not listen'
  const known = typeof version === 'string' ? version : '–'
  return html`<tr><th scope="row">${name}${here}</th><td>${part}</td><td>${known}</td><td>${duration(now - startedAt)}</td></tr>`
}
