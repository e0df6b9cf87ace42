import { randomBytes } from 'node:crypto'
import type { SignIn } from '../../host/port.ts'
import { createSeal } from '../../host/seal.ts'
import { type CookieRules, type Cookies, fullName, setCookie } from './login-cookie.ts'

/**
 * How long after a login the browser may send the IdP's answer again, by a reload or the back button. In milliseconds.
 */
const LANDING_MS = 10 * 60_000
const NAME = 'oidc-landed'

/** The members of a session that identify the login that started it. */
type Session = Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>

/**
 * Remembers in a sealed cookie where a browser's last login led, in case the browser sends the IdP's answer again. One
 * is enough, because each login ends the previous session.
 */
export interface Landings {
  /**
   * Stores the path to which a login redirected the browser.
   *
   * @returns a value of `Set-Cookie`
   */
  remember(state: string, session: Session, path: string, rules: CookieRules): string
  /**
   * Returns the path to which the login with this state redirected the browser. Returns undefined unless the browser
   * still has the session that this login started.
   */
  find(state: string, session: Session | undefined, rules: CookieRules, cookies: Cookies): string | undefined
}

/** @param secret the host's secret. If it is undefined, a restart of the process makes all stored paths unreadable */
export function createLandings(secret: string | undefined, now: () => number): Landings {
  const seal = createSeal(secret ?? randomBytes(32), 'login landing')
  /**
   * Returns a text that binds a sealed path to one login and one session. The path cannot be decrypted with another
   * text.
   */
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
      // Only this server can have sealed the value, so its format is known: a time, a space, and a path without spaces.
      const [expiresAt, path] = opened?.split(' ') ?? []
      return now() <= Number(expiresAt) ? path : undefined
    },
  }
}
