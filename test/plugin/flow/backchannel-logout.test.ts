import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { MemoryStore } from 'express-session'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { logoutClaims } from '../../../fixtures/idp/logout-token.ts'
import { hearSessionIds } from '../../support/session-ids.ts'
import { answerFromIdp, type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'
import { MoodyStore } from '../host/moody-store.ts'

const PATH = 'auth-oidc-backchannel-logout'

/** A session store that, like some databases, cannot list its sessions. */
class UnlistedStore extends MemoryStore {
  constructor() {
    super()
    Object.defineProperty(this, 'all', { value: undefined })
  }
}

describe('back-channel logout', () => {
  const startSetup = setups()
  const start = async (options: SetupOptions = {}, registered: Record<string, unknown> = {}) => {
    const setup = await startSetup(options)
    const registration = {
      backchannel_logout_uri: `${setup.host.url}${PATH}`,
      backchannel_logout_session_required: true,
    }
    await setup.register({ ...registration, ...registered })
    return setup
  }
  const signedIn = async (setup: Setup, name = 'alice') => {
    const { person, me } = await setup.signIn(name)
    expect(me.status).to.equal(200)
    return person
  }
  /** Signs out at the IdP itself, which ends all sessions there. */
  const logOutAtIdp = async (setup: Setup, person: ScriptedBrowser) => {
    const page = await person.get(`${setup.idp.issuer}/session/end`)
    await person.submit(page.forms[0]!, {}, 'Yes, sign me out')
  }
  const post = async (setup: Setup, body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${setup.host.url}${PATH}`, { method: 'POST', body, headers })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
  const send = (setup: Setup, token: string) => post(setup, new URLSearchParams({ logout_token: token }))
  const claimsFor = ({ idp }: Setup, changes: Record<string, unknown> = {}) => ({
    ...logoutClaims(idp.issuer, { clientId: 'mesh', sub: 'u-1001' }, Date.now()),
    ...changes,
  })
  const tokenFor = (setup: Setup, changes?: Record<string, unknown>) => setup.idp.sign(claimsFor(setup, changes))

  // Shows: plugin 2.8.
  it('a logout token ends sessions even if issuer is set to the discovery URL', async () => {
    const oidc: SetupOptions['oidc'] = ({ idp }) => ({ issuer: `${idp.issuer}/.well-known/openid-configuration` })
    const setup = await start({ idp: { path: '/tenant' }, oidc })
    const person = await signedIn(setup)
    expect((await send(setup, await tokenFor(setup))).status).to.equal(200)
    expect(await setup.isIn(person)).to.equal(false)
  })

  // Shows: plugin 9.1, 10.20.
  it('a logout token with sub and sid ends only the session with that sid', async () => {
    const setup = await start()
    const [person, secondBrowser, bystander] = [
      await signedIn(setup),
      await signedIn(setup),
      await signedIn(setup, 'bob'),
    ]
    await logOutAtIdp(setup, person)

    expect(await setup.isIn(person)).to.equal(false)
    expect(await setup.isIn(secondBrowser)).to.equal(true)
    expect(await setup.isIn(bystander)).to.equal(true)
    expect(setup.lines('backchannel-logout').map(({ level, fields }) => ({ level, fields }))).to.deep.equal([
      { level: 'info', fields: { user: '~oidc:u-1001', subject: 'u-1001', sessions: 1 } },
    ])
  })

  // Shows: plugin 9.1.
  it('a logout token without sid ends all sessions of the user', async () => {
    const setup = await start({}, { backchannel_logout_session_required: false })
    const [person, secondBrowser, bystander] = [
      await signedIn(setup),
      await signedIn(setup),
      await signedIn(setup, 'bob'),
    ]
    await logOutAtIdp(setup, person)

    expect(await setup.isIn(person)).to.equal(false)
    expect(await setup.isIn(secondBrowser)).to.equal(false)
    expect(await setup.isIn(bystander)).to.equal(true)
    const [line] = setup.lines('backchannel-logout')
    expect(line?.fields).to.deep.equal({ user: '~oidc:u-1001', subject: 'u-1001', sessions: 2 })
    expect(line?.message).to.equal('The IdP ended all sessions of a user.')
    // The user can sign in again at once, in the same IdP session or a new one.
    await signedIn(setup)
  })

  it("the log names the session's account even if its id is not the token's subject", async () => {
    const oidc = { custom: { claims: { uuid: 'email' } } }
    const setup = await start({ oidc })
    const sids = await hearSessionIds(setup)
    await signedIn(setup)
    for (const changes of [{ sub: undefined, sid: sids.at(-1) }, {}]) {
      expect((await send(setup, await tokenFor(setup, changes))).status).to.equal(200)
    }
    expect(setup.lines('backchannel-logout').map(({ fields }) => fields)).to.deep.equal([
      { user: '~oidc:alice@example.test', sessions: 1 },
      { subject: 'u-1001', sessions: 0 },
    ])
  })

  for (const [condition, options, left, counted] of [
    ['the store can list its sessions', {}, 'left', { sessions: 0 }],
    ['the store cannot list its sessions', { host: { sessionStore: new UnlistedStore() } }, 'in use', {}],
  ] as const) {
    it(`a logout token after a sign-out is logged as no session ${left} if ${condition}`, async () => {
      const setup = await start(options)
      const person = await signedIn(setup)
      await person.step(`${setup.host.url}logout`)
      expect((await send(setup, await tokenFor(setup))).status).to.equal(200)
      const [line] = setup.lines('backchannel-logout')
      expect(line?.message).to.equal(
        `The IdP ended all sessions of a user. No such session was ${left} on this server, for example because the user had already signed out here.`,
      )
      expect(line?.fields).to.deep.equal({ user: '~oidc:u-1001', subject: 'u-1001', ...counted })
    })
  }

  // Shows: plugin 9.28.
  it('a logout token with only a sid ends the session with that sid and no other', async () => {
    const setup = await start()
    const sids = await hearSessionIds(setup)
    const person = await signedIn(setup)
    const sid = sids.at(-1)
    const otherBrowser = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup, { sub: undefined, sid }), { alg: 'RS256', typ: 'logout+jwt' })
    expect((await send(setup, token)).status).to.equal(200)
    expect(await setup.isIn(person)).to.equal(false)
    expect(await setup.isIn(otherBrowser)).to.equal(true)
  })

  // Shows: plugin 10.20.
  it('accepts a logout token without exp only once, up to 10 minutes after its iat', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    const token = await tokenFor(setup, { exp: undefined, iat: Math.floor(Date.now() / 1000) - 540 })
    const { status, body, headers } = await send(setup, token)
    expect(status).to.equal(200)
    expect(body).to.equal(null)
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(await setup.isIn(person)).to.equal(false)
    const keyRequests = setup.idp.requests('jwks')
    expect((await send(setup, token)).status).to.equal(400)
    expect(setup.lines('backchannel-logout-refused')[0]?.fields.reason).to.equal('it was already used')
    expect(setup.idp.requests('jwks')).to.equal(keyRequests)
  })

  // Shows: plugin 9.22.
  it('a pending login survives a logout only if the user authenticates afterwards', async () => {
    const setup = await start({}, { require_auth_time: true })
    const [waiting, early] = [setup.browser(), setup.browser()]
    const page = await waiting.get(`${setup.host.url}auth-oidc`)
    const answer = await answerFromIdp(early, setup.host.url, 'alice')
    expect((await send(setup, await tokenFor(setup))).status).to.equal(200)
    // Times in tokens are whole seconds, and in doubt a login counts as earlier.
    await setup.clock.advance(3_000)
    setup.idp.setClockAhead(3_000)
    await waiting.submit(page.forms[0]!, { username: 'alice', password: 'alice-demo' })
    expect(await setup.isIn(waiting)).to.equal(true)

    setup.idp.setClockAhead(0)
    expect((await early.step(answer)).headers.location).to.equal('/login?failure=provider_refused')
    expect(await setup.isIn(early)).to.equal(false)
    const [line] = setup.lines('login-failed')
    expect(line?.fields).to.include({ code: 'session_ended', user: '~oidc:u-1001' })
  })

  // Shows: plugin 9.21.
  it("verifies a logout token with the cached keys if the IdP's key set hangs", async () => {
    const setup = await start()
    const person = await signedIn(setup)
    setup.idp.faults.set('jwks', { kind: 'hang' })
    const keyRequests = setup.idp.requests('jwks')
    // The keys are fresh, so none are requested.
    expect((await send(setup, await tokenFor(setup, { sub: 'nobody' }))).status).to.equal(200)
    expect(setup.idp.requests('jwks')).to.equal(keyRequests)
    await setup.clock.advance(1_000)
    const answer = send(setup, await tokenFor(setup))
    await until('a request for the keys', () => setup.idp.requests('jwks') > keyRequests)
    await setup.clock.pass(2_000)
    expect((await answer).status).to.equal(200)
    expect(await setup.isIn(person)).to.equal(false)
  })

  it('accepts logout tokens signed with the client secret', async () => {
    const members = { id_token_signed_response_alg: 'HS256' }
    const setup = await start({ client: members, registered: members })
    const person = await signedIn(setup)
    await logOutAtIdp(setup, person)
    expect(await setup.isIn(person)).to.equal(false)
  })

  it('decrypts logout tokens with the client secret, and refuses unencrypted ones', async () => {
    const members = { id_token_encrypted_response_alg: 'A256KW', id_token_encrypted_response_enc: 'A128GCM' }
    const setup = await start({ client: members, registered: members })
    const person = await signedIn(setup)
    expect((await send(setup, await tokenFor(setup))).status).to.equal(400)
    expect((await send(setup, 'eyJhbGciOiJBMjU2S1ciLCJlbmMiOiJBMTI4R0NNIn0.AA.AA.AA.AA')).status).to.equal(400)
    expect(setup.lines('backchannel-logout-refused').map(({ fields }) => fields.code)).to.deep.equal([
      'logout_token_invalid',
      'logout_token_invalid',
    ])
    expect(await setup.isIn(person)).to.equal(true)
    await logOutAtIdp(setup, person)
    expect(await setup.isIn(person)).to.equal(false)
  })

  describe('refused back-channel logout', () => {
    let setup: Setup
    let person: ScriptedBrowser
    beforeEach(async () => {
      setup = await start()
      person = await signedIn(setup)
    })

    for (const [description, makeToken, reason] of [
      [
        'with claims changed after signing',
        async () => {
          const [header, , signature] = (await tokenFor(setup, { sub: 'u-1002' })).split('.')
          return `${header}.${Buffer.from(JSON.stringify(claimsFor(setup))).toString('base64url')}.${signature}`
        },
        /signature/,
      ],
      ['that is empty', () => '', /no logout_token/],
    ] as readonly (readonly [string, () => string | Promise<string>, RegExp])[]) {
      it(`refuses a logout token ${description}; only the log says why`, async () => {
        const { status, headers, body } = await send(setup, await makeToken())
        expect(status).to.equal(400)
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('content-type')).to.match(/^application\/json/)
        expect(body).to.deep.equal({
          error: 'invalid_request',
          error_description: 'The logout token was not accepted.',
        })
        const [line, ...more] = setup.lines('backchannel-logout-refused')
        expect(more).to.deep.equal([])
        expect(line?.fields.code).to.equal('logout_token_invalid')
        expect(line?.fields.reason).to.match(reason)
        expect(await setup.isIn(person), 'still signed in').to.equal(true)
      })
    }

    it('refuses a logout request that is too large, not a form, or has two tokens', async () => {
      const token = await tokenFor(setup)
      const form = new URLSearchParams({ logout_token: token }).toString()
      const asForm = { 'content-type': 'application/x-www-form-urlencoded' }
      const requests: [string | Uint8Array<ArrayBuffer>, Record<string, string>][] = [
        [JSON.stringify({ logout_token: token }), { 'content-type': 'application/json' }],
        [form, { 'content-type': 'text/plain' }],
        [gzipSync(form), { ...asForm, 'content-encoding': 'gzip' }],
        [`${form}&${form}`, asForm],
        [`${form}&pad=${'x'.repeat(16 * 1024)}`, asForm],
      ]
      for (const [index, [body, headers]] of requests.entries()) {
        const { status, headers: answerHeaders, body: answer } = await post(setup, body, headers)
        expect(status, `request ${index}`).to.equal(400)
        expect(answer.error).to.equal('invalid_request')
        expect(answerHeaders.get('cache-control')).to.equal('no-store')
      }
      expect(setup.lines('backchannel-logout-refused')).to.have.length(requests.length)
      expect(await setup.isIn(person)).to.equal(true)
      // Other fields that the IdP sends beside the token are ignored.
      expect((await post(setup, new URLSearchParams({ logout_token: token, more: 'x' }))).status).to.equal(200)
    })

    it('answers 404 and keeps the session if a logout token is sent by GET', async () => {
      const token = await tokenFor(setup)
      expect((await fetch(`${setup.host.url}${PATH}?logout_token=${token}`)).status).to.equal(404)
      expect(await setup.isIn(person)).to.equal(true)
    })
  })

  it("does not fetch the IdP's key set for a logout token with wrong claims", async () => {
    const setup = await start()
    expect((await send(setup, await tokenFor(setup, { aud: 'other' }))).status).to.equal(400)
    expect(setup.idp.requests('jwks')).to.equal(0)
  })

  it("accepts a retried logout token if the IdP's keys were unavailable at first", async () => {
    const setup = await start()
    const person = await signedIn(setup)
    const token = await tokenFor(setup)
    setup.idp.faults.set('jwks', { kind: 'answer', status: 500, body: 'no keys today' })
    await setup.clock.advance(1_000)
    const { status, body } = await send(setup, token)
    expect(status).to.equal(400)
    expect(body).to.deep.equal({
      error: 'server_error',
      error_description: 'The logout could not be carried out. Please try again.',
    })
    expect(setup.lines('backchannel-logout-refused')[0]?.fields).to.include({
      code: 'provider_unreachable',
      endpoint: 'jwks_uri',
    })
    expect(await setup.isIn(person)).to.equal(true)
    setup.idp.faults.clear()
    const retried = send(setup, token)
    await setup.clock.pass(1_000)
    expect((await retried).status).to.equal(200)
    expect(await setup.isIn(person)).to.equal(false)
  })

  it('accepts a retried logout token if the session store failed at first', async () => {
    const sessionStore = new MoodyStore()
    const setup = await start({ host: { sessionStore } })
    const person = await signedIn(setup)
    const token = await tokenFor(setup)
    Object.assign(sessionStore, { mood: 'failing', only: 'all' })
    expect((await send(setup, token)).body).to.include({ error: 'server_error' })
    const refused = setup.lines('backchannel-logout-refused')
    expect(refused.map(({ level, fields }) => [level, fields.code])).to.deep.equal([['error', 'host_failed']])
    // The session ended at once, because the revocation precedes the request to the store.
    expect(await setup.isIn(person)).to.equal(false)
    sessionStore.mood = 'fine'
    expect((await send(setup, token)).status).to.equal(200)
  })

  // Shows: plugin 10.29.
  it('a back-channel logout writes neither logout token nor session id to any log', async () => {
    const setup = await start()
    const sids = await hearSessionIds(setup)
    await signedIn(setup)
    const [sid] = sids
    const token = await tokenFor(setup, { sid })
    await send(setup, token)
    await send(setup, token)
    const everything = JSON.stringify([setup.authLog, setup.output])
    for (const secret of [token, token.split('.')[2]!, sid]) expect(everything).to.not.include(secret)
  })
})
