import type { Clock } from '../clock.ts'
import type { Host } from '../host/port.ts'

/** Limit of counted sessions. If there are more, the count is too low. */
const MOST_COUNTED = 10_000
const DAY_MS = 24 * 60 * 60_000

/** Counts the sessions in use that can never be checked, each for twice the check interval. Logs at most one a day. */
export class UncheckedSessions {
  readonly #domainKey: string
  readonly #host: Pick<Host, 'authLog'>
  readonly #clock: Clock
  readonly #lifeMs: number
  /**
   * Maps session ids to the time when the session last could not be checked, in milliseconds of `Clock.elapsed`. The
   * oldest is first.
   */
  readonly #noted = new Map<string, number>()
  #loggedAt = Number.NEGATIVE_INFINITY

  /** @param everyMs time between two checks of a session in use, in milliseconds */
  constructor(domainKey: string, host: Pick<Host, 'authLog'>, clock: Clock, everyMs: number) {
    this.#domainKey = domainKey
    this.#host = host
    this.#clock = clock
    this.#lifeMs = 2 * everyMs
  }

  note(id: string): void {
    const now = this.#clock.elapsed()
    this.#noted.delete(id)
    if (this.#noted.size < MOST_COUNTED) this.#noted.set(id, now)
    if (now - this.#loggedAt < DAY_MS) return
    this.#loggedAt = now
    this.#host.authLog({
      level: 'warn',
      event: 'session-unchecked',
      message:
        'The IdP cannot be asked whether some sessions are still alive: they have no refresh token, and it introspects no access tokens. Users disabled at the IdP stay signed in. Allow this client refresh tokens at the IdP (`custom.scope` with `offline_access`), or set `issuer.introspection_endpoint`.',
      domain: this.#domainKey,
      fields: {},
    })
  }

  forget(id: string): void {
    this.#noted.delete(id)
  }

  count(): number {
    const expiredAt = this.#clock.elapsed() - this.#lifeMs
    for (const [id, notedAt] of this.#noted) {
      if (notedAt >= expiredAt) break
      this.#noted.delete(id)
    }
    return this.#noted.size
  }
}
