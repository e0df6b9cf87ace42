import { expect } from 'chai'
import type { Request } from 'express'
import { LoginError } from '../../../plugin/errors.ts'
import type { AuthLogEntry, Host } from '../../../plugin/host/port.ts'
import { createIntrospection, introspectTokens } from '../../../plugin/sessions/introspection.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const NOW = 1_000_000

describe('the state of a session at the IdP', () => {
  let asked: string[]
  beforeEach(() => {
    asked = []
  })
  /** @param active tokens; null where the IdP cannot be asked. Those that are not named are inactive */
  const state = (active: readonly string[] | null, changes: object = {}) => {
    const introspect = async (token: string, kind?: string) => {
      asked.push(`${kind} ${token}`)
      return active?.includes(token) ?? null
    }
    return introspectTokens({ access: 'a', accessExpiresAt: null, refresh: 'r', ...changes }, { introspect }, NOW)
  }
  const over = { accessExpiresAt: NOW }

  for (const [what, active, tokens, expected] of [
    ['goes on while the access token is active, whatever is said of the other', ['a'], {}, 'active'],
    ['goes on while the refresh token is active', ['r'], {}, 'active'],
    ['has ended when neither is active', [], {}, 'ended'],
    ['has ended when the only one is not active', [], { refresh: null }, 'ended'],
    ['goes on by the refresh token once the other has run out', ['r'], over, 'active'],
    ['has ended by the refresh token once the other has run out', [], over, 'ended'],
    ['is unknown once the only one has run out', [], { ...over, refresh: null }, 'unknown'],
    ['is unknown where the IdP cannot be asked', null, {}, 'unknown'],
  ] as const) {
    // Shows: plugin 9.29.
    it(what, async () => {
      expect(await state(active, tokens)).to.equal(expected)
      expect(asked.includes('access_token a')).to.equal(!('accessExpiresAt' in tokens))
    })
  }

  describe('of a request', () => {
    const clock = new FakeClock(NOW)
    const lines: AuthLogEntry[] = []
    const asker = (introspect: (token: string) => Promise<boolean>, session: (path: string) => object | undefined) => {
      const domains = ['', 'customer'].map((domainKey) => ({ domainKey, working: { client: { introspect } } }))
      const sessions = { current: async (req: Request) => session(req.path) }
      const host = { sessions, authLog: (line: AuthLogEntry) => lines.push(line) } as unknown as Host
      const ask = createIntrospection(domains, host, clock)
      return (path: string) => ask({ path } as Request)
    }
    const tokens = { access: 'a', accessExpiresAt: null, refresh: null }

    it('is asked for anew after 10 s, however the clock is set, and apart for each domain', async () => {
      let active = true
      const introspect = async (token: string) => {
        asked.push(token)
        return active
      }
      const at = asker(introspect, (domainKey) => ({ domainKey, tokens }))
      expect([await at(''), await at('customer')]).to.deep.equal(['active', 'active'])
      active = false
      clock.set(clock.now() + 3_600_000)
      await clock.advance(9_999)
      expect([await at(''), asked.length]).to.deep.equal(['active', 2])
      await clock.advance(1)
      expect([await at(''), asked.length]).to.deep.equal(['ended', 3])
    })

    it('has ended where nobody is signed in, and is unknown where no token was kept, or none can be asked about', async () => {
      const failing = async () => {
        throw new LoginError('introspection_failed')
      }
      const session = (path: string) =>
        path === '' ? undefined : { domainKey: '', tokens: path === 'kept' ? tokens : null }
      const at = asker(failing, session)
      expect([await at(''), await at('none'), lines]).to.deep.equal(['ended', 'unknown', []])
      expect([await at('kept'), lines[0]?.event]).to.deep.equal(['unknown', 'introspection-failed'])
    })
  })
})
