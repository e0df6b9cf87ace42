import { randomBytes } from 'node:crypto'
import type { SignIn } from '../../host/port.ts'
import { createSeal } from '../../host/seal.ts'
import { type CookieRules, type Cookies, fullName, setCookie } from './login-cookie.ts'

/** How long after a login its answer may come again, by a reload or the back button. */
const LANDING_MS = 10 * 60_000
const NAME = 'oidc-landed'

/** The members of a session that identify the login that began it. */
type Session = Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>

/**
 * Remembers where the last login of a browser led, for an answer that comes again. The path is sealed in one cookie of
 * the browser. Each login overwrites the cookie of the login before, because it also ends that login's session.
 */
export interface Landings {
  /** @returns a value of `Set-Cookie` */
  remember(state: string, session: Session, path: string, rules: CookieRules): string
  /** Returns where the login of that state led, if this browser's session is still the one that the login began. */
  find(state: string, session: Session | undefined, rules: CookieRules, cookies: Cookies): string | undefined
}

/** @param secret of the host; without one, a restart of the process forgets all landings */
export function createLandings(secret: string | undefined, now: () => number): Landings {
  const seal = createSeal(secret ?? randomBytes(32), 'login landing')
  /** The seal opens only for the same login and session. */
  const contextOf = (name: string, state: string, { domainKey, userId, startedAt }: Session) =>
    JSON.stringify([name, state, domainKey, userId, startedAt])
  return {
    remember(state, session, path, rules) {
      const name = fullName(NAME, rules)
      const sealed = seal.seal(`${now() + LANDING_MS} ${path}`, contextOf(name, state, session))
      return setCookie(name, sealed, LANDING_MS, rules)
    },
    find(state, session, rules, cookies) {
      const name = fullName(NAME, rules)
      const opened = session && seal.open(cookies[name] ?? '', contextOf(name, state, session))
      // Only this server can have sealed it, and a path contains no space.
      const [expiresAt, path] = opened?.split(' ') ?? []
      return now() <= Number(expiresAt) ? path : undefined
    },
  }
}
