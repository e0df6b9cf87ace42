import type { Clock } from '../../clock.ts'
import { askDatabase } from '../database.ts'
import type { Members, MeshDatabase } from '../server.ts'
import { isOurs } from '../sessions/sealed-cookies.ts'

/**
 * The domains whose single sign-on accounts have login tokens, for the status page. The first answer is that of the
 * start; each look at the page has the database asked again for the next one.
 */
export class TokenCensus {
  readonly #ask: () => Promise<readonly Members[] | null | undefined>
  readonly #domains: ReadonlySet<string>
  readonly #onFailure: (error: unknown) => void
  #found: ReadonlySet<string> = new Set()
  #isAsking = false

  /** @param domains ids of the domains whose logins are ours */
  constructor(db: MeshDatabase, clock: Clock, domains: ReadonlySet<string>, onFailure: (error: unknown) => void) {
    this.#ask = () =>
      askDatabase<readonly Members[] | null>(clock, 'list login tokens', (done) => db.GetAllType('logintoken', done))
    this.#domains = domains
    this.#onFailure = onFailure
    this.#refresh()
  }

  hasTokens(domainKey: string): boolean {
    this.#refresh()
    return this.#found.has(domainKey)
  }

  #refresh(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    this.#ask()
      .then((records) => {
        const users = (records ?? []).flatMap(({ userid }) => (typeof userid === 'string' ? [userid] : []))
        this.#found = new Set(users.flatMap((user) => (isOurs(user, this.#domains) ? [user.split('/')[1] ?? ''] : [])))
      })
      .catch(this.#onFailure)
      .finally(() => {
        this.#isAsking = false
      })
  }
}
