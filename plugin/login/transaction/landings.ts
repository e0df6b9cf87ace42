import { randomBytes } from 'node:crypto'
import type { SignIn } from '../../host/port.ts'
import { createSeal } from '../../host/seal.ts'
import { type CookieRules, type Cookies, fullName, setCookie } from './login-cookie.ts'

/** How long after a login its answer may be repeated by a reload or the back button, in milliseconds. */
const LANDING_MS = 10 * 60_000
const NAME = 'oidc-landed'

/** The members of a session that identify the login that started it. */
type Session = Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>

/**
 * Remembers where the last login of a browser led, in case the browser repeats the IdP's answer. The path is sealed in
 * one cookie of the browser. Each login overwrites the cookie of the previous login, because it ends that login's
 * session too.
 */
export interface Landings {
  /**
   * Stores the path to which a login led.
   *
   * @returns a value of `Set-Cookie`
   */
  remember(state: string, session: Session, path: string, rules: CookieRules): string
  /**
   * Returns the path to which the login with that state led. Returns undefined unless the browser still has that
   * login's session.
   */
  find(state: string, session: Session | undefined, rules: CookieRules, cookies: Cookies): string | undefined
}

/** @param secret the host's secret. Without one, a restart of the process makes all stored paths unreadable */
export function createLandings(secret: string | undefined, now: () => number): Landings {
  const seal = createSeal(secret ?? randomBytes(32), 'login landing')
  /** Returns the context of a seal. A sealed path can be opened only for the same login and the same session. */
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
      // Only this server can have sealed the value, so its format is known. A path contains no space.
      const [expiresAt, path] = opened?.split(' ') ?? []
      return now() <= Number(expiresAt) ? path : undefined
    },
  }
}
