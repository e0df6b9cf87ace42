import { expect } from 'chai'
import type { Request } from 'express'
import { LoginError } from '../../../plugin/errors.ts'
import type { AuthLogEntry, Host } from '../../../plugin/host/port.ts'
import { createIntrospection, introspectTokens } from '../../../plugin/sessions/introspection.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const NOW = 1_000_000

describe('state of a session at the IdP', () => {
  let requests: string[]
  beforeEach(() => {
    requests = []
  })
  /** @param active the active tokens; null if the IdP cannot be asked. All others are inactive */
  const state = (active: readonly string[] | null, changes: object = {}) => {
    const introspect = async (token: string, kind?: string) => {
      requests.push(`${kind} ${token}`)
      return active?.includes(token) ?? null
    }
    return introspectTokens({ access: 'a', accessExpiresAt: null, refresh: 'r', ...changes }, { introspect }, NOW)
  }
  const expired = { accessExpiresAt: NOW }

  for (const [title, active, tokens, expected] of [
    ['a session is active if its access token is active', ['a'], {}, 'active'],
    ['a session is active if its refresh token is active', ['r'], {}, 'active'],
    ['a session has ended if neither of its tokens is active', [], {}, 'ended'],
    ['a session has ended if its only token is inactive', [], { refresh: null }, 'ended'],
    ['a session with expired access token is active if its refresh token is', ['r'], expired, 'active'],
    ['a session with expired access token has ended if its refresh token has', [], expired, 'ended'],
    ["a session's state is unknown after its only token has expired", [], { ...expired, refresh: null }, 'unknown'],
    ["a session's state is unknown if the IdP cannot be asked", null, {}, 'unknown'],
  ] as const) {
    // Shows: plugin 9.29.
    it(title, async () => {
      expect(await state(active, tokens)).to.equal(expected)
      expect(requests.includes('access_token a')).to.equal(!('accessExpiresAt' in tokens))
    })
  }

  describe("introspection of a request's session", () => {
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

    it('introspects a session again only after 10 s, separately for each domain', async () => {
      let active = true
      const introspect = async (token: string) => {
        requests.push(token)
        return active
      }
      const stateAt = asker(introspect, (domainKey) => ({ domainKey, tokens }))
      expect(await stateAt('')).to.equal('active')
      expect(await stateAt('customer')).to.equal('active')
      active = false
      clock.set(clock.now() + 3_600_000)
      await clock.advance(9_999)
      expect(await stateAt('')).to.equal('active')
      expect(requests).to.have.length(2)
      await clock.advance(1)
      expect(await stateAt('')).to.equal('ended')
      expect(requests).to.have.length(3)
    })

    it('the state of a missing session is ended, of a session without tokens unknown', async () => {
      const failing = async () => {
        throw new LoginError('introspection_failed')
      }
      const session = (path: string) =>
        path === '' ? undefined : { domainKey: '', tokens: path === 'kept' ? tokens : null }
      const stateAt = asker(failing, session)
      expect(await stateAt('')).to.equal('ended')
      expect(await stateAt('none')).to.equal('unknown')
      expect(lines).to.deep.equal([])
      expect(await stateAt('kept')).to.equal('unknown')
      expect(lines[0]?.event).to.equal('introspection-failed')
    })
  })
})
