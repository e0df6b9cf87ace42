import type { AuthLogEntry, Host, OpenSession, SessionTokens, Tokens } from '../../../plugin/host/port.ts'
import type { ProviderClient } from '../../../plugin/provider/client.ts'
import { SessionChecks } from '../../../plugin/sessions/session-checks.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** Default interval of the checks of one session. */
export const EVERY_MS = 300_000
/** Time between two searches for sessions that are due. */
export const LOOK_MS = 10_000

/** What the IdP does with a refresh token. If it resolves, it replaces refresh token n of a session by n + 1. */
export type Idp = (refresh: string) => Promise<unknown>

/**
 * Sets up session checks of one session per name and domain, whose tokens are kept in memory. `requests` are the tokens
 * that the IdP got, and `written` are the new access tokens that were stored.
 */
export function setUpSessionChecks({
  names = ['a'] as readonly string[],
  idp = (async () => undefined) as Idp,
  tokens = {} as Partial<Tokens>,
  everyMs = EVERY_MS,
  domains = [''] as readonly string[],
  lease = undefined as Host['sessions']['lease'],
  introspect = (async () => null) as (token: string) => Promise<boolean | null>,
} = {}) {
  const clock = new FakeClock(1_000_000)
  const stored = new Map<string, SessionTokens>()
  const requests: string[] = []
  const written: string[] = []
  const lines: AuthLogEntry[] = []
  const all = domains.flatMap((domainKey) => names.map((name) => sessionOf(domainKey, name)))
  const takenAt = new Map(all.map(({ id }) => [id, clock.now() - everyMs]))

  function sessionOf(domainKey: string, name: string): OpenSession {
    const id = domainKey + name
    stored.set(id, {
      idToken: null,
      tokens: { access: `${id} access`, accessExpiresAt: null, refresh: `${id} 1`, ...tokens },
    })
    return {
      id,
      signIn: { domainKey, userId: `~oidc:${name}`, issuer: 'https://idp', subject: name, sid: null, startedAt: 0 },
      read: async () => stored.get(id) ?? { idToken: null, tokens: null },
      write: async (fresh) => {
        written.push(`${id} ${fresh.tokens?.access}`)
        stored.set(id, fresh)
      },
      end: async () => void stored.delete(id),
    }
  }
  const client: Pick<ProviderClient, 'introspect' | 'renew'> = {
    async renew(tokens, refresh) {
      requests.push(refresh)
      await idp(refresh)
      const [name = '', count] = refresh.split(' ')
      const next = Number(count) + 1
      return {
        tokens: { ...tokens, access: `${name} access ${next}`, refresh: `${name} ${next}` },
        idToken: null,
        claims: null,
      }
    },
    async introspect(token) {
      requests.push(token)
      return introspect(token)
    },
  }
  const sessions: Partial<Host['sessions']> = {
    *inUse(domainKey, forMs) {
      for (const session of all) {
        if (session.signIn.domainKey !== domainKey || (takenAt.get(session.id) ?? 0) > clock.now() - forMs) continue
        yield session
        takenAt.set(session.id, clock.now())
      }
    },
    ...(lease ? { lease } : {}),
  }
  const host = { sessions, authLog: (entry: AuthLogEntry) => lines.push(entry) } as unknown as Host
  const options = { host, provider: { client }, clock, everyMs }
  const [checks, ...otherChecks] = domains.map((key) => new SessionChecks(key, options))
  if (!checks) throw new Error('There are no domains.')
  const events = () => lines.map(({ event, fields }) => [event, fields.user ?? fields.code] as const)
  const refreshOf = (id: string) => stored.get(id)?.tokens?.refresh ?? null
  return {
    clock,
    stored,
    requests,
    written,
    lines,
    all,
    checks,
    events,
    refreshOf,
    look: () => clock.advance(LOOK_MS),
    close() {
      for (const each of [checks, ...otherChecks]) void each.close()
    },
  }
}
