import { randomBytes } from 'node:crypto'
import type { SignIn } from '../../host/port.ts'
import { createSeal } from '../../host/seal.ts'
import { type CookieRules, fullName, readCookies, setCookie } from './login-cookie.ts'

/** How long after a login its answer may come again: by a reload, or the way back. */
const LANDING_MS = 10 * 60_000
const NAME = 'oidc-landed'

/** By what a session is known to be that of a login. */
type Session = Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>

/**
 * Where the last login of a browser led, for an answer that comes again. It lies with the browser, sealed, in one
 * cookie: each login takes the place of the one before, whose session it ended.
 */
export interface Landings {
  /** @returns a value of `Set-Cookie` */
  remember(state: string, session: Session, path: string, rules: CookieRules): string
  /** Where the login of that state led, if this browser's session is still the one that it began. */
  find(
    state: string,
    session: Session | undefined,
    rules: CookieRules,
    cookieHeader: string | undefined,
  ): string | undefined
}

/** @param secret of the host; without one, landings are forgotten with the process */
export function createLandings(secret: string | undefined, now: () => number): Landings {
  const seal = createSeal(secret ?? randomBytes(32), 'login landing')
  /** It opens for its own login and session alone. */
  const placeOf = (name: string, state: string, { domainKey, userId, startedAt }: Session) =>
    JSON.stringify([name, state, domainKey, userId, startedAt])
  return {
    remember(state, session, path, rules) {
      const name = fullName(NAME, rules)
      const sealed = seal.seal(`${now() + LANDING_MS} ${path}`, placeOf(name, state, session))
      return setCookie(name, sealed, LANDING_MS, rules)
    },
    find(state, session, rules, cookieHeader) {
      const name = fullName(NAME, rules)
      const opened = session && seal.open(readCookies(cookieHeader)[name] ?? '', placeOf(name, state, session))
      // Only we can have sealed it, and no path has a blank.
      const [until, path] = opened?.split(' ') ?? []
      return now() <= Number(until) ? path : undefined
    },
  }
}
