import type { Clock } from '../../clock.ts'
import { printableText } from '../../log.ts'
import type { MeshLoginTokens, TokenVerdict } from '../people/login-tokens.ts'
import type { Authenticate, MeshServer, MeshWeb } from '../server.ts'
import { keyOfDirectLogins, type Owner } from './cookie-owner.ts'
import type { CurrentWork, Work } from './current-work.ts'
import type { OpenSessions } from './open-sessions.ts'
import { isOurs } from './sealed-cookies.ts'

export interface TokenLoginsOptions {
  readonly web: Pick<MeshWeb, 'authenticate'>
  readonly tokens: Pick<MeshLoginTokens, 'verdictOn'>
  readonly work: CurrentWork
  readonly open: OpenSessions
  /** Ids of the domains whose logins are ours. */
  readonly domains: ReadonlySet<string>
  readonly clock: Clock
  /** Called with a user whose token did not work although its secret was right. */
  readonly onRefused: (user: string, reason: Refusal) => void
  /** Called when the database did not say whether a token works. */
  readonly onFailure: (error: unknown) => void
}

/** `unattributed`: nobody could end what the token would open. */
type Refusal = Extract<TokenVerdict, { readonly works: false }>['reason'] | 'unattributed'

/**
 * Has a login token of one of our users work only while the IdP and the group rules admit the user. Every way that a
 * token can come in on ends at MeshCentral's `authenticate`: forms, `?user=&pass=`, `x-meshauth` and orders over
 * sockets. A test lists them from its sources.
 *
 * What a token opens bears the user's key of direct logins from then on: sessions, sealed cookies, and the socket that
 * brought the token.
 */
export function watchTokenLogins(options: TokenLoginsOptions): void {
  const { web, tokens, work, open, domains, clock, onRefused, onFailure } = options
  const authenticate = web.authenticate.bind(web)

  function admit(user: string, startedAt: number, until: number, here: Work): void {
    const limit = Number.isFinite(until) ? { until } : {}
    const owner: Owner = { kind: 'session', keys: [keyOfDirectLogins(user)], startedAt, ...limit }
    here.brought.set(user, owner)
    if (here.socket) open.seenSealed(owner, user, here.socket)
  }

  /** @returns undefined: the token works */
  async function refusal(user: string, startedAt: number): Promise<Refusal | undefined> {
    const here = work.get()
    if (!here) return 'unattributed'
    const verdict = await tokens.verdictOn(user)
    if (!verdict.works) return verdict.reason
    admit(user, startedAt, verdict.until, here)
    return undefined
  }

  web.authenticate = (name, secret, domain, done) => {
    const startedAt = clock.now()
    authenticate(name, secret, domain, (...answer) => {
      const [error, user] = answer
      if (error || typeof user !== 'string' || !isOurs(user, domains)) {
        done(...answer)
        return
      }
      // On its own turn: what MeshCentral throws there is not ours to catch.
      const goOn = (...given: Parameters<typeof done>) => process.nextTick(() => done(...given))
      refusal(user, startedAt).then(
        (reason) => {
          if (reason === undefined) {
            goOn(...answer)
            return
          }
          onRefused(user, reason)
          goOn(new Error('login token refused'))
        },
        (failure: unknown) => {
          onFailure(failure)
          goOn(new Error('login token refused'))
        },
      )
    })
  }
}

/** Lets no login token of these users work: MeshCentral's own `authenticate` knows no IdP. */
export function refuseTokenLogins(web: Partial<Pick<MeshWeb, 'authenticate'>>, isRefused: (user: unknown) => boolean) {
  const authenticate: Authenticate | undefined = web.authenticate?.bind(web)
  if (!authenticate) return
  web.authenticate = (name, secret, domain, done) =>
    authenticate(name, secret, domain, (...answer) => {
      const isOpened = !answer[0] && isRefused(answer[1])
      if (isOpened) done(new Error('login token refused'))
      else done(...answer)
    })
}

/** A tool tries again every few seconds. */
const LOGGED_MS = 60 * 60_000
/** Users whose last line is remembered; the oldest is forgotten first. */
const MOST_LOGGED = 1_000
const WHY: Readonly<Record<Refusal, string>> = {
  suspended: "group rules refused the user's last login. It works again after the next login that succeeds.",
  no_login: 'the user has not signed in at the IdP since loginTokenDays counts. It works after the next login.',
  too_old: "the user's last login at the IdP is over loginTokenDays ago. It works again after the next login.",
  unattributed: 'it came in on an unknown way. Report the version of MeshCentral.',
}

/** Writes one line an hour and user into the authentication log. */
export function tokenRefusals(server: Pick<MeshServer, 'authLog'>, clock: Clock): TokenLoginsOptions['onRefused'] {
  const logged = new Map<string, number>()
  return (user, reason) => {
    const key = `${reason} ${user}`
    if (clock.elapsed() - (logged.get(key) ?? Number.NEGATIVE_INFINITY) < LOGGED_MS) return
    logged.delete(key)
    logged.set(key, clock.elapsed())
    const [oldest] = logged.keys()
    if (logged.size > MOST_LOGGED && oldest !== undefined) logged.delete(oldest)
    server.authLog(
      'OIDC',
      `WARN login-token-refused: A login token of ${printableText(user)} was refused: ${WHY[reason]}`,
    )
  }
}
