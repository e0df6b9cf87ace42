import { expect } from 'chai'
import { createEndSession } from '../../../../plugin/provider/logout/end-session.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { MINIMAL, settingsOf } from '../../config/single-domain.ts'

const ISSUER = 'https://idp.example/one'
const ENDPOINT = `${ISSUER}/end?tenant=x`

describe('end-session request', () => {
  const settingsWith = (oidc: object) => settingsOf({ ...MINIMAL, issuer: ISSUER, ...oidc }, {}, { cert: 'mesh.test' })

  function open(metadata: object = {}, oidc: object = {}, status = 200) {
    const requests: { address: string; method: string; headers: object }[] = []
    const missing: string[] = []
    const published = { issuer: ISSUER, ...metadata }
    let current = published
    const endSession = createEndSession(settingsWith(oidc), {
      issuer: { metadata: async () => current, close: () => undefined },
      fetch: async (address, { method, headers }) => {
        requests.push({ address, method, headers })
        return new Response(null, { status })
      },
      onMissing: (address) => missing.push(address),
      clock: new FakeClock(),
    })
    return { endSession, requests, missing, discoverAnew: () => (current = { ...published }) }
  }
  const session = { subject: 'u-1', sid: 's-1', idToken: 'an ID token' }
  const parametersOf = async ({ endSession }: ReturnType<typeof open>, changes: typeof session | object) => {
    const next = await endSession.next({ ...session, ...changes })
    if (next.kind !== 'redirect') throw new Error(next.kind)
    const { state, ...rest } = Object.fromEntries(next.url.searchParams)
    expect(state).to.be.a('string')
    return rest
  }

  it("the end-session request's hint is the ID token, else the sid, else the subject", async () => {
    const endSession = open({ end_session_endpoint: ENDPOINT })
    const rest = { tenant: 'x', client_id: 'mesh', post_logout_redirect_uri: 'https://mesh.test/login' }
    expect(await parametersOf(endSession, {})).to.deep.equal({ ...rest, id_token_hint: 'an ID token' })
    expect(await parametersOf(endSession, { idToken: null })).to.deep.equal({ ...rest, logout_hint: 's-1' })
    expect(await parametersOf(endSession, { idToken: null, sid: null })).to.deep.equal({ ...rest, logout_hint: 'u-1' })
  })

  // Shows: plugin 9.5.
  it('the end-session request is a form if the ID token exceeds 1,500 characters', async () => {
    const { endSession } = open({ end_session_endpoint: ENDPOINT })
    for (const [length, kind] of [
      [1_500, 'redirect'],
      [1_501, 'form'],
    ] as const) {
      expect((await endSession.next({ ...session, idToken: 'x'.repeat(length) })).kind).to.equal(kind)
    }
  })

  // Shows: plugin 9.8.
  it('without an end-session endpoint, tries <issuer>/logout once per discovery', async () => {
    const { endSession, requests, missing, discoverAnew } = open({ issuer: `${ISSUER}/` }, {}, 404)
    for (const _ of [1, 2]) {
      const answers = await Promise.all([1, 2, 3].map(() => endSession.next(session)))
      expect(answers.map(({ kind }) => kind)).to.deep.equal(['nowhere', 'nowhere', 'nowhere'])
      discoverAnew()
    }
    const question = { address: `${ISSUER}/logout`, method: 'GET', headers: {} }
    expect(requests).to.deep.equal([question, question])
    expect(missing).to.deep.equal([`${ISSUER}/logout`, `${ISSUER}/logout`])
  })

  for (const [condition, metadata, logouturl, expected] of [
    ['a logout ends the IdP session at a published endpoint', { end_session_endpoint: ENDPOINT }, undefined, true],
    ['a logout does not end the IdP session without an endpoint', {}, undefined, false],
    [
      'a logout does not end the IdP session if logouturl is elsewhere',
      { end_session_endpoint: ENDPOINT },
      'https://x.test/bye',
      false,
    ],
    [
      'a logout ends the IdP session if logouturl is the endpoint',
      { end_session_endpoint: ENDPOINT },
      `${ISSUER}/end?a=b`,
      true,
    ],
  ] as const) {
    it(condition, async () => {
      expect(await open(metadata, { logouturl }).endSession.endsAtIdp()).to.equal(expected)
    })
  }
})
