import { expect } from 'chai'
import type { SignIn, Tokens } from '../../../plugin/host/port.ts'
import { createIntrospection, type Introspection } from '../../../plugin/sessions/introspection.ts'
import { FakeClock } from '../../support/fake-clock.ts'

describe('the state of a session at the IdP', () => {
  let clock: FakeClock
  let introspection: Introspection
  let asked: string[]
  let answer: () => Promise<{ active: boolean } | null>
  beforeEach(() => {
    clock = new FakeClock(1_000_000)
    introspection = createIntrospection(clock)
    asked = []
    answer = async () => ({ active: true })
  })
  const session = (tokens: Partial<Tokens> | null, domainKey = ''): SignIn => ({
    domainKey,
    userId: '~oidc:u-1',
    issuer: 'https://idp.example',
    subject: 'u-1',
    sid: null,
    startedAt: 0,
    idToken: null,
    tokens: tokens && { access: 'access', accessExpiresAt: null, refresh: null, ...tokens },
  })
  const ask = (token: string, kind: string) => {
    asked.push(`${kind} ${token}`)
    return answer()
  }

  it('is asked for anew after 10 s', async () => {
    expect(await introspection.stateOf(session({}), ask)).to.equal('active')
    answer = async () => ({ active: false })
    await clock.advance(9_999)
    expect(await introspection.stateOf(session({}), ask)).to.equal('active')
    await clock.advance(1)
    expect(await introspection.stateOf(session({}), ask)).to.equal('ended')
    expect(asked).to.have.length(2)
  })

  it('is asked for once in 10 s, however the clock is set', async () => {
    await introspection.stateOf(session({ access: 'a' }), ask)
    for (const ms of [-3_600_000, 7_200_000]) {
      clock.set(clock.now() + ms)
      await introspection.stateOf(session({ access: 'a' }), ask)
    }
    expect(asked).to.have.length(1)
  })

  describe('with a refresh token', () => {
    const DOMAIN = 'of its own'
    /** What the IdP says of each token; tokens that are not named here are inactive. */
    let active: readonly string[]
    const say = (token: string, kind: string) => {
      asked.push(`${kind} ${token}`)
      return Promise.resolve({ active: active.includes(token) })
    }
    const state = (tokens: Partial<Tokens>, domain = DOMAIN) =>
      createIntrospection(clock).stateOf(session({ access: 'a', refresh: 'r', ...tokens }, domain), say)
    const over = { accessExpiresAt: 1 }

    for (const [what, living, tokens, expected] of [
      ['goes on while the access token is active, whatever is said of the other', ['a'], {}, 'active'],
      ['goes on while the refresh token is active', ['r'], {}, 'active'],
      ['has ended when neither is active', [], {}, 'ended'],
      ['has ended when the only one is not active', [], { refresh: null }, 'ended'],
      ['goes on by the refresh token once the other has run out', ['r'], over, 'active'],
      ['has ended by the refresh token once the other has run out', [], over, 'ended'],
      ['is unknown once the only one has run out', [], { ...over, refresh: null }, 'unknown'],
    ] as const) {
      it(what, async () => {
        active = living
        expect(await state(tokens)).to.equal(expected)
        const isOver = 'accessExpiresAt' in tokens
        expect(asked.includes('access_token a')).to.equal(!isOver)
      })
    }
  })

  it('is not shared between domains', async () => {
    await introspection.stateOf(session({ access: 'b' }), ask)
    await introspection.stateOf(session({ access: 'b' }, 'customer'), ask)
    expect(asked).to.have.length(2)
  })

  it('is unknown where the IdP cannot be asked, and an IdP that fails is left alone for 10 s', async () => {
    answer = async () => null
    expect(await introspection.stateOf(session({ access: 'c' }), ask)).to.equal('unknown')
    answer = () => Promise.reject(new Error('away'))
    for (const _ of [1, 2]) {
      const failure = await introspection.stateOf(session({ access: 'd' }), ask).catch((error: Error) => error.message)
      expect(failure).to.equal('away')
    }
    expect(asked).to.have.length(2)
  })
})
