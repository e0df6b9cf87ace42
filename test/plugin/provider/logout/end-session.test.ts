import { expect } from 'chai'
import { createEndSession } from '../../../../plugin/provider/logout/end-session.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { MINIMAL, settingsOf } from '../../config/one-domain.ts'

const ISSUER = 'https://idp.example/one'
const ENDPOINT = `${ISSUER}/end?tenant=x`

describe('where a session ends at the IdP', () => {
  const settingsWith = (oidc: object) => settingsOf({ ...MINIMAL, issuer: ISSUER, ...oidc }, {}, { cert: 'mesh.test' })

  function open(metadata: object = {}, oidc: object = {}, status = 200) {
    const asked: { address: string; method: string; headers: object }[] = []
    const missing: string[] = []
    const known = { issuer: ISSUER, ...metadata }
    let current = known
    const endSession = createEndSession(settingsWith(oidc), {
      issuer: { metadata: async () => current, close: () => undefined },
      fetch: async (address, { method, headers }) => {
        asked.push({ address, method, headers })
        return new Response(null, { status })
      },
      onMissing: (address) => missing.push(address),
      clock: new FakeClock(),
    })
    return { endSession, asked, missing, discoverAnew: () => (current = { ...known }) }
  }
  const session = { subject: 'u-1', sid: 's-1', idToken: 'an ID token' }
  const parametersOf = async ({ endSession }: ReturnType<typeof open>, given: typeof session | object) => {
    const next = await endSession.next({ ...session, ...given })
    if (next.kind !== 'redirect') throw new Error(next.kind)
    const { state, ...others } = Object.fromEntries(next.url.searchParams)
    expect(state).to.be.a('string')
    return others
  }

  it('is told who logs out: by the ID token, else by the session id, else by the subject', async () => {
    const own = open({ end_session_endpoint: ENDPOINT })
    const rest = { tenant: 'x', client_id: 'mesh', post_logout_redirect_uri: 'https://mesh.test/login' }
    expect(await parametersOf(own, {})).to.deep.equal({ ...rest, id_token_hint: 'an ID token' })
    expect(await parametersOf(own, { idToken: null })).to.deep.equal({ ...rest, logout_hint: 's-1' })
    expect(await parametersOf(own, { idToken: null, sid: null })).to.deep.equal({ ...rest, logout_hint: 'u-1' })
  })

  // Shows: plugin 9.5.
  it('is a form from 1,501 characters of ID token on', async () => {
    const { endSession } = open({ end_session_endpoint: ENDPOINT })
    for (const [length, kind] of [
      [1_500, 'redirect'],
      [1_501, 'form'],
    ] as const) {
      expect((await endSession.next({ ...session, idToken: 'x'.repeat(length) })).kind).to.equal(kind)
    }
  })

  // Shows: plugin 9.8.
  it('looks once per discovery for an unpublished logout address, and warns each time', async () => {
    const { endSession, asked, missing, discoverAnew } = open({ issuer: `${ISSUER}/` }, {}, 404)
    for (const _ of [1, 2]) {
      const answers = await Promise.all([1, 2, 3].map(() => endSession.next(session)))
      expect(answers.map(({ kind }) => kind)).to.deep.equal(['nowhere', 'nowhere', 'nowhere'])
      discoverAnew()
    }
    const question = { address: `${ISSUER}/logout`, method: 'GET', headers: {} }
    expect(asked).to.deep.equal([question, question])
    expect(missing).to.deep.equal([`${ISSUER}/logout`, `${ISSUER}/logout`])
  })

  for (const [what, metadata, logouturl, expected] of [
    ['where the IdP publishes an endpoint', { end_session_endpoint: ENDPOINT }, undefined, true],
    ['not where it publishes none', {}, undefined, false],
    ['not by a logouturl elsewhere', { end_session_endpoint: ENDPOINT }, 'https://x.test/bye', false],
    ['by a logouturl that is that endpoint', { end_session_endpoint: ENDPOINT }, `${ISSUER}/end?a=b`, true],
  ] as const) {
    it(`ends the session of the IdP ${what}`, async () => {
      expect(await open(metadata, { logouturl }).endSession.endsAtIdp()).to.equal(expected)
    })
  }
})
