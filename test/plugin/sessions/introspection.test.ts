import { expect } from 'chai'
import { stateOf } from '../../../plugin/sessions/introspection.ts'

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
      return active && { active: active.includes(token), claims: {} }
    }
    return stateOf({ access: 'a', accessExpiresAt: null, refresh: 'r', ...changes }, { introspect }, NOW)
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
    it(what, async () => {
      expect(await state(active, tokens)).to.equal(expected)
      expect(asked.includes('access_token a')).to.equal(!('accessExpiresAt' in tokens))
    })
  }
})
