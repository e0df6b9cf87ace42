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

    it('is unknown once the other has run out, at an IdP that calls living refresh tokens inactive too', async () => {
      const own = createIntrospection(clock)
      active = ['a']
      expect(await own.stateOf(session({ refresh: 'r', access: 'a' }), say)).to.equal('active')
      expect(await own.stateOf(session({ refresh: 's', access: 'a' }), say)).to.equal('active')
      // Found out with the first session, and not anew with each of the next ones.
      expect(asked).to.deep.equal(['access_token a', 'refresh_token r', 'access_token a'])
      active = []
      await clock.advance(10_000)
      expect(await own.stateOf(session({ refresh: 'r', access: 'a', ...over }), say)).to.equal('unknown')
      expect(await own.stateOf(session({ refresh: 'r', access: 'a', ...over }, 'another'), say)).to.equal('ended')
      expect(await own.stateOf(session({ refresh: 't', access: 'b' }), say)).to.equal('ended')
    })

    it('has ended once the other has run out, at an IdP that called a refresh token active before', async () => {
      const own = createIntrospection(clock)
      active = ['a', 'r']
      expect(await own.stateOf(session({ refresh: 'r', access: 'a' }), say)).to.equal('active')
      active = []
      expect(await own.stateOf(session({ refresh: 'r', access: 'b', ...over }), say)).to.equal('ended')
    })

    it('has ended once the other has run out, where the first refresh token asked about was that of a session just ending', async () => {
      const own = createIntrospection(clock)
      active = ['a', 'b', 'living']
      expect(await own.stateOf(session({ access: 'a', refresh: 'ending' }), say)).to.equal('active')
      await clock.advance(9_999)
      await own.stateOf(session({ access: 'b', refresh: 'living' }), say)
      expect(asked).not.to.include('refresh_token living')
      await clock.advance(1)
      await own.stateNow(session({ access: 'b', refresh: 'living' }), say)
      expect(asked).to.include('refresh_token living')
      expect(await own.stateOf(session({ access: 'c', refresh: 'idle', ...over }), say)).to.equal('ended')
    })

    it('has ended once the other has run out, where a session was just ending while another refresh token was called active', async () => {
      const own = createIntrospection(clock)
      active = ['a', 'b', 'living']
      let answer = () => {}
      const late = new Promise<void>((resolve) => {
        answer = resolve
      })
      const slow = async (token: string, kind: string) => {
        if (token === 'ending') await late
        return say(token, kind)
      }
      const ending = own.stateOf(session({ access: 'a', refresh: 'ending' }), slow)
      await own.stateOf(session({ access: 'b', refresh: 'living' }), slow)
      answer()
      expect(await ending).to.equal('active')
      expect(await own.stateOf(session({ access: 'c', refresh: 'idle', ...over }), say)).to.equal('ended')
    })

    it('stays what the access token says when the IdP fails at the other', async () => {
      const own = createIntrospection(clock)
      const failing = (token: string, kind: string) =>
        kind === 'refresh_token' ? Promise.reject(new Error('away')) : ask(token, kind)
      expect(await own.stateOf(session({ refresh: 'r' }), failing)).to.equal('active')
    })
  })

  it('as it is now is asked for at once, and remembered', async () => {
    const own = createIntrospection(clock)
    expect(await own.stateOf(session({}), ask)).to.equal('active')
    answer = async () => ({ active: false })
    expect(await own.stateNow(session({}), ask)).to.equal('ended')
    expect(await own.stateOf(session({}), ask)).to.equal('ended')
    expect(asked).to.have.length(2)
    expect(await own.stateNow(session(null), ask)).to.equal('unknown')
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
