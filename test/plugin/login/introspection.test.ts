import { expect } from 'chai'
import type { SignIn, Tokens } from '../../../plugin/host/port.ts'
import { createIntrospection } from '../../../plugin/login/introspection.ts'

describe('the state of a session at the IdP', () => {
  let clock = 0
  let asked: string[]
  let answer: () => Promise<{ active: boolean } | null>
  beforeEach(() => {
    clock = 1_000_000
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
  const introspection = createIntrospection(() => clock)

  it('is asked for anew after 10 s', async () => {
    expect(await introspection.stateOf(session({}), ask)).to.equal('active')
    answer = async () => ({ active: false })
    clock += 9_999
    expect(await introspection.stateOf(session({}), ask)).to.equal('active')
    clock += 1
    expect(await introspection.stateOf(session({}), ask)).to.equal('ended')
    expect(asked).to.have.length(2)
  })

  it('is asked for anew when the clock was put back', async () => {
    await introspection.stateOf(session({ access: 'a' }), ask)
    clock -= 3_600_000
    await introspection.stateOf(session({ access: 'a' }), ask)
    expect(asked).to.have.length(2)
  })

  it('is asked for with the refresh token, even when the access token has run out', async () => {
    expect(await introspection.stateOf(session({ refresh: 'r', accessExpiresAt: 1 }), ask)).to.equal('active')
    expect(asked).to.deep.equal(['refresh_token r'])
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
