import { readNote } from '../../aprsis/listeners/listeners.ts'
import { duration } from './format.ts'
import { type Html, html } from './html.ts'

/** One of the processes that share a database. Times are in milliseconds since 1970. */
export interface SharingInstance {
  readonly name: string
  readonly startedAt: number
  /**
   * JSON that the instance publishes: `version`, whether it may `listen`, and its number as `listener` if it listens
   * now.
   */
  readonly note: string
}

/** The database that several processes share. */
export interface SharedDatabase {
  /** The database's address, without user and password. */
  readonly address: string
  /** The instances in alphabetical order; undefined if the database does not answer. */
  readonly instances: readonly SharingInstance[] | undefined
  /** The name of this instance. */
  readonly ownName: string
}

export function renderInstances({ address, instances, ownName }: SharedDatabase, now: number): Html {
  const where = html`<p class="soft">The instances share the PostgreSQL database ${address}.</p>`
  if (instances === undefined) return html`${where}<p>The database does not answer, so the instances are unknown.</p>`
  return html`${where}<div class="card scroll" role="region" aria-label="Instances" tabindex="0"><table>
<thead><tr><th scope="col">Instance</th><th scope="col">APRS-IS</th><th scope="col">Version</th><th scope="col">Up for</th></tr></thead>
<tbody>${instances.map((instance) => row(instance, ownName, now))}</tbody>
</table></div>`
}

function row({ name, startedAt, note }: SharingInstance, ownName: string, now: number): Html {
  const { version, listen, listener } = readNote(note)
  const suffix = name === ownName ? ' (this one)' : ''
  const role = typeof listener === 'number' ? 'listens' : listen === true ? 'stands by' : 'does not listen'
  const shownVersion = typeof version === 'string' ? version : '–'
  return html`<tr><th scope="row">${name}${suffix}</th><td>${role}</td><td>${shownVersion}</td><td>${duration(now - startedAt)}</td></tr>`
}
