import type { Clock } from '../../clock.ts'
import { printableText } from '../../log.ts'
import type { MeshLoginTokens, TokenVerdict } from '../people/login-tokens.ts'
import { replaceFunction } from '../replaced-functions.ts'
import type { MeshServer, MeshWeb } from '../server.ts'
import { type CookieOwner, keyOfDirectLogins } from './cookie-owner.ts'
import type { CurrentWork, Work } from './current-work.ts'
import type { OpenSessions } from './open-sessions.ts'
import { isOurs } from './sealed-cookies.ts'

export interface TokenLoginsOptions {
  readonly web: Pick<MeshWeb, 'authenticate'>
  readonly tokens: Pick<MeshLoginTokens, 'verdictOn'>
  readonly work: CurrentWork
  readonly open: OpenSessions
  /** Ids of the domains with the plugin's single sign-on. */
  readonly domains: ReadonlySet<string>
  readonly clock: Clock
  /** Called with the user if a login token was refused although its secret was right. */
  readonly onRefused: (user: string, reason: Refusal) => void
  /** Called if the database did not answer whether a token works. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Why a login token was refused. `unattributed`: its request is unknown, so the plugin could not end what the token
 * opens.
 */
type Refusal = Extract<TokenVerdict, { readonly works: false }>['reason'] | 'unattributed'

/**
 * Lets login tokens of the plugin's users work only while the IdP and the group rules admit the user. Wraps
 * `authenticate`, which MeshCentral calls for every token: from forms, `?user=&pass=`, `x-meshauth` and commands over
 * sockets. A test compares this list with MeshCentral's sources.
 *
 * All that the tokens of a user open has one revocation key (`keyOfDirectLogins`), so that it ends together.
 */
export function watchTokenLogins(options: TokenLoginsOptions): void {
  const { web, tokens, work, open, domains, clock, onRefused, onFailure } = options

  function admit(user: string, startedAt: number, until: number, current: Work): void {
    const limit = Number.isFinite(until) ? { until } : {}
    const owner: CookieOwner = { kind: 'session', keys: [keyOfDirectLogins(user)], startedAt, ...limit }
    current.brought.set(user, owner)
    if (current.socket) open.noteSealed(owner, user, current.socket)
  }

  /**
   * Decides whether to refuse a login token.
   *
   * @returns the reason, or undefined if the token works
   */
  async function refusal(user: string, startedAt: number): Promise<Refusal | undefined> {
    const current = work.get()
    if (!current) return 'unattributed'
    const verdict = await tokens.verdictOn(user)
    if (!verdict.works) return verdict.reason
    admit(user, startedAt, verdict.until, current)
    return undefined
  }

  replaceFunction('web.authenticate', web, 'authenticate', (authenticate) => (name, secret, domain, done) => {
    const startedAt = clock.now()
    authenticate(name, secret, domain, (...answer) => {
      const [error, user] = answer
      if (error || typeof user !== 'string' || !isOurs(user, domains)) {
        done(...answer)
        return
      }
      // Call `done` in a separate turn of the event loop. Otherwise this promise would catch errors that MeshCentral
      // throws in `done`.
      const proceed = (...values: Parameters<typeof done>) => process.nextTick(() => done(...values))
      refusal(user, startedAt).then(
        (reason) => {
          if (reason === undefined) {
            proceed(...answer)
            return
          }
          onRefused(user, reason)
          proceed(new Error('login token refused'))
        },
        (failure: unknown) => {
          onFailure(failure)
          proceed(new Error('login token refused'))
        },
      )
    })
  })
}

/**
 * Refuses all login tokens of the users that `isRefused` selects, because MeshCentral's own `authenticate` does not ask
 * the IdP.
 */
export function refuseTokenLogins(
  web: Partial<Pick<MeshWeb, 'authenticate'>>,
  isRefused: (user: unknown) => boolean,
): void {
  replaceFunction(
    'web.authenticate (lockdown)',
    web,
    'authenticate',
    (authenticate) => (name, secret, domain, done) =>
      authenticate(name, secret, domain, (...answer) => {
        const isRightSecret = !answer[0]
        if (isRightSecret && isRefused(answer[1])) done(new Error('login token refused'))
        else done(...answer)
      }),
  )
}

/**
 * Least time between two log lines about the same user and reason, in milliseconds. Programs with a refused token try
 * again every few seconds.
 */
const LOGGED_MS = 60 * 60_000
/** Limit of remembered log lines. Beyond it, the oldest is dropped. */
const MOST_LOGGED = 1_000
const WHY: Readonly<Record<Refusal, string>> = {
  suspended: "group rules refused the user's last login. The token works again after the user's next successful login.",
  no_login:
    "settings.plugins.meshcompanion.loginTokenDays is set, and the plugin has not recorded a login of this user yet. The token works after the user's next login.",
  too_old:
    "the user's last login or renewal at the IdP is more days ago than settings.plugins.meshcompanion.loginTokenDays. The token works again after the user's next login.",
  unattributed: 'the plugin does not know which request sent the token. Report this with the version of MeshCentral.',
}

/**
 * Returns a function that writes refusals to the authentication log: for each user and reason, at most one line an
 * hour.
 */
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
