import type { Clock } from '../../clock.ts'
import { askDatabase } from '../database.ts'
import type { Members, MeshDatabase } from '../server.ts'
import { isOurs } from '../sessions/sealed-cookies.ts'

/**
 * Finds out in which domains single sign-on accounts have login tokens. Each visit of the status page asks the database
 * and shows the previous answer.
 */
export class TokenCensus {
  readonly #ask: () => Promise<readonly Members[] | null | undefined>
  readonly #domains: ReadonlySet<string>
  readonly #onFailure: (error: unknown) => void
  #domainsWithTokens: ReadonlySet<string> = new Set()
  #isAsking = false

  /** @param domains ids of the domains with the plugin's single sign-on */
  constructor(db: MeshDatabase, clock: Clock, domains: ReadonlySet<string>, onFailure: (error: unknown) => void) {
    this.#ask = () =>
      askDatabase<readonly Members[] | null>(clock, 'list login tokens', (done) => db.GetAllType('logintoken', done))
    this.#domains = domains
    this.#onFailure = onFailure
    this.#refresh()
  }

  hasTokens(domainKey: string): boolean {
    this.#refresh()
    return this.#domainsWithTokens.has(domainKey)
  }

  #refresh(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    this.#ask()
      .then((records) => {
        const users = (records ?? []).flatMap(({ userid }) => (typeof userid === 'string' ? [userid] : []))
        const ourUsers = users.filter((user) => isOurs(user, this.#domains))
        this.#domainsWithTokens = new Set(ourUsers.map((user) => user.split('/')[1] ?? ''))
      })
      .catch(this.#onFailure)
      .finally(() => {
        this.#isAsking = false
      })
  }
}
