import type { Clock } from '../../clock.ts'
import type { LoginErrorCode } from '../../errors.ts'
import type { Profile } from '../../host/port.ts'
import { type MeshWeb, userKey } from '../server.ts'
import { accountsWithAddress } from './holdings.ts'

/** Refusals after which an administrator may look for the user's old account. */
export type RefusalWithOldAccount = 'account_unknown' | 'account_limit' | 'issuer_changed'

/** A refused login of a user who probably has an account. */
export interface RefusedLogin {
  /** MeshCentral's id of the existing account. */
  readonly from: string
  /** MeshCentral's id of the refused account, which may not exist yet. Equals `from` in the case `issuer_changed`. */
  readonly to: string
  readonly code: RefusalWithOldAccount
  /** When the login was last refused, in milliseconds since 1970. */
  readonly time: number
}

/** The number of days for which a refused login is listed. */
export const LISTED_DAYS = 7
/** The maximum number of stored refusals in each domain. */
const MOST_REFUSALS = 50
const DAY_MS = 24 * 60 * 60_000

/**
 * Stores refused logins for which an account has the same address, verified by both sides. Keeps both ids, in memory.
 */
export class RefusedLogins {
  /** When this object began to store refusals, in milliseconds since 1970. */
  readonly since: number
  readonly #web: Pick<MeshWeb, 'users'>
  readonly #clock: Pick<Clock, 'now'>
  /** The refusals of each domain, the latest first. */
  readonly #byDomain = new Map<string, readonly RefusedLogin[]>()

  constructor(web: Pick<MeshWeb, 'users'>, clock: Pick<Clock, 'now'>) {
    this.#web = web
    this.#clock = clock
    this.since = clock.now()
  }

  note(domainId: string, { id, email, emailVerified }: Profile, code: LoginErrorCode): void {
    if (!mayHaveOldAccount(code) || email === null || emailVerified !== true) return
    const [to, time] = [userKey(domainId, id), this.#clock.now()]
    const known = accountsWithAddress(this.#web.users, domainId, email).map(({ _id }) => _id)
    // An account of another issuer may belong to another user, unless it has the address of this user.
    const accounts = known.filter((from) => (from === to) === (code === 'issuer_changed'))
    const latest = accounts.map((from) => ({ from, to, code, time }))
    const earlier = this.of(domainId).filter((refusal) => refusal.to !== to)
    this.#byDomain.set(domainId, [...latest, ...earlier].slice(0, MOST_REFUSALS))
  }

  /** Returns the refusals of the last few days, the latest first. */
  of(domainId: string): readonly RefusedLogin[] {
    const oldest = this.#clock.now() - LISTED_DAYS * DAY_MS
    return (this.#byDomain.get(domainId) ?? []).filter(({ time }) => time >= oldest)
  }
}

function mayHaveOldAccount(code: LoginErrorCode): code is RefusalWithOldAccount {
  return code === 'account_unknown' || code === 'account_limit' || code === 'issuer_changed'
}
