import { randomBytes } from 'node:crypto'
import type { SignIn } from '../../host/port.ts'
import { createSeal } from '../../host/seal.ts'
import { type CookieRules, digestOf, fullName, readCookies, setCookie } from './login-cookie.ts'

/** How long after a login its answer may come again: by a reload, or the way back. */
const LANDING_MS = 10 * 60_000
const NAME = 'oidc-landed'

/** By what a session is known to be that of a login. */
type Session = Pick<SignIn, 'domainKey' | 'userId' | 'startedAt'>

interface Landing extends Session {
  readonly digest: string
  readonly path: string
  readonly until: number
}

/**
 * Where the last login of a browser led, for an answer that comes again. It lies with the browser, sealed, in one cookie: each login
 * takes the place of the one before, whose session it ended.
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
  return {
    remember(state, { domainKey, userId, startedAt }, path, rules) {
      const name = fullName(NAME, rules)
      const until = now() + LANDING_MS
      const landing: Landing = { domainKey, userId, startedAt, digest: digestOf(state), path, until }
      return setCookie(name, seal.seal(JSON.stringify(landing), name), LANDING_MS, rules)
    },
    find(state, session, rules, cookieHeader) {
      const name = fullName(NAME, rules)
      const opened = seal.open(readCookies(cookieHeader)[name] ?? '', name)
      if (opened === null || !session) return undefined
      // Only we can have sealed it, so its shape is ours.
      const landing = JSON.parse(opened) as Landing
      const isItsSession =
        landing.domainKey === session.domainKey &&
        landing.userId === session.userId &&
        landing.startedAt === session.startedAt
      return isItsSession && landing.digest === digestOf(state) && now() <= landing.until ? landing.path : undefined
    },
  }
}
