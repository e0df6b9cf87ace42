import { expect } from 'chai'
import type { Fault } from '../../../fixtures/idp/faults.ts'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type Places, type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'

const BOB = DEMO_USERS.find(({ username }) => username === 'bob')!
/**
 * As AD FS and Entra ID answer: the ID token has what they know, which is neither `email_verified` nor the groups of
 * everybody.
 */
const ID_TOKEN: SetupOptions = { idp: { claimsIn: 'id_token', groupsIn: 'id_token', scopes: { email: ['email'] } } }
const refusing = (status: number, body = ''): Fault => ({ kind: 'answer', status, body })

describe('UserInfo', () => {
  const start = setups()
  const withClaims = (setup: Setup, claims: Record<string, unknown>) => setup.idp.setUser({ ...BOB, claims })
  /** A setup whose UserInfo refuses, as AD FS does for tokens of another audience. */
  async function startRefusing(options: SetupOptions = {}, fault: Fault = refusing(401)) {
    const setup = await start({ ...ID_TOKEN, ...options })
    setup.idp.faults.set('userinfo', fault)
    return setup
  }

  for (const [what, fault, fields] of [
    ['answers 401', refusing(401), { status: 401 }],
    ['answers 403', refusing(403, '{"error":"insufficient_scope"}'), { status: 403, error: 'insufficient_scope' }],
    ['answers 404', refusing(404), { status: 404 }],
    ['answers 500', refusing(500, '<h1>oops</h1>'), { status: 500 }],
    ['redirects to a login page', { kind: 'redirect', to: 'https://login.test/' }, { status: 302 }],
    ['resets the connection', { kind: 'reset' }, { causeCode: 'ECONNRESET' }],
  ] as const satisfies readonly (readonly [string, Fault, object])[]) {
    // Shows: plugin 10.15.
    it(`that ${what} costs a login nothing that the ID token has`, async () => {
      const setup = await startRefusing({}, fault)
      const { who } = await setup.signIn('bob')
      expect(who).to.include({ status: 200, id: '~oidc:u-1002', name: 'Bob Example', email: 'bob@example.test' })
      expect(who.emailVerified).to.equal(null)
      const [warning, ...more] = setup.lines('userinfo-failed')
      expect(more).to.deep.equal([])
      expect(warning).to.deep.include({ level: 'warn', domain: '' })
      expect(warning?.fields).to.include({ endpoint: 'userinfo_endpoint', ...fields })
      expect(warning?.message).to.match(/issuer\.userinfo_endpoint.* false/)
    })
  }

  // Shows: plugin 10.15.
  it('that does not answer in time costs a login nothing that the ID token has', async () => {
    const setup = await startRefusing({}, { kind: 'hang' })
    const login = setup.signIn('bob')
    while (setup.idp.requests('userinfo') === 0) await new Promise(setImmediate)
    await setup.clock.pass(10_000)
    expect((await login).who).to.include({ status: 200, name: 'Bob Example' })
    expect(setup.lines('userinfo-failed')[0]?.fields).to.include({ causeCode: 'TIMEOUT' })
  })

  // Shows: plugin 10.15.
  it('that fails at each login is one warning an hour', async () => {
    const setup = await startRefusing()
    for (const [passMs, warnings] of [
      [0, 1],
      [60 * 60_000 - 1, 1],
      [1, 2],
    ] as const) {
      await setup.clock.advance(passMs)
      setup.idp.setClockAhead(setup.clock.elapsed())
      expect((await setup.signIn('bob')).who.status).to.equal(200)
      expect(setup.lines('userinfo-failed')).to.have.length(warnings)
    }
  })

  // Shows: plugin 10.15.
  it('that fails refuses a login whose id is not in the ID token', async () => {
    const claims = { uuid: 'oid' }
    const custom = { scope: 'openid profile directory', claims }
    const setup = await startRefusing({
      oidc: { custom },
      idp: { claimsIn: 'userinfo', scopes: { directory: ['oid'] } },
    })
    withClaims(setup, { ...BOB.claims, oid: 'D-7' })
    const { who, failure } = await setup.signIn('bob')
    expect(who.status).to.equal(401)
    expect(failure).to.include({ code: 'userinfo_failed', missingClaim: 'oid', status: 401 })
    expect(setup.lines('userinfo-failed')).to.deep.equal([])
  })

  describe('where people are known by their e-mail address', () => {
    const oidc = { custom: { claims: { uuid: 'email' } } }

    // Shows: plugin 10.15.
    it('refuses an address that the ID token does not call verified if UserInfo fails', async () => {
      const setup = await startRefusing({ oidc })
      const { who, failure } = await setup.signIn('bob')
      expect(who.status).to.equal(401)
      expect(failure).to.include({ code: 'userinfo_failed', missingClaim: 'email_verified' })
      expect(setup.lines('login-failed')[0]?.message).to.match(
        /could have denied.*`issuer\.userinfo_endpoint` to false/,
      )
    })

    it('that fails admits an address that the ID token vouches for', async () => {
      const setup = await startRefusing({ oidc, idp: { claimsIn: 'id_token' } })
      withClaims(setup, { email: 'bob@example.test', email_verified: true })
      expect((await setup.signIn('bob')).who).to.include({ status: 200, id: '~oidc:bob@example.test' })
    })

    it('denies an address though another claim tells the one of the account', async () => {
      const custom = { scope: 'openid email directory', claims: { uuid: 'email', email: 'mail', name: 'mail' } }
      const idp = { claimsIn: 'id_token', scopes: { email: ['email'], directory: ['mail'] } } as const
      const setup = await start({ oidc: { custom }, idp })
      withClaims(setup, { email: 'bob@example.test', mail: 'b@radio.test' })
      const body = (told: unknown) => ({ ...(told as object), email_verified: false })
      setup.idp.faults.set('userinfo', { kind: 'rewrite', body })
      expect((await setup.signIn('bob')).failure).to.include({ code: 'subject_unusable' })
    })
  })

  it('is asked whether an address of another claim is denied, if that is the id', async () => {
    const custom = { scope: 'openid directory', claims: { uuid: 'mail', email: 'mail', name: 'mail' } }
    const idp = { claimsIn: 'id_token', scopes: { directory: ['mail'] } } as const
    const setup = await start({ oidc: { custom }, idp })
    withClaims(setup, { mail: 'b@radio.test' })
    const body = (told: unknown) => ({ ...(told as object), email_verified: false })
    setup.idp.faults.set('userinfo', { kind: 'rewrite', body })
    expect((await setup.signIn('bob')).failure).to.include({ code: 'subject_unusable' })
  })

  describe('that fails where groups decide', () => {
    const LOST = { name: 'Bob', email: 'bob@example.test' }

    // Shows: plugin 10.15.
    it('leaves memberships unknown if the ID token has no groups: required refuses', async () => {
      const setup = await startRefusing({ oidc: { groups: { required: 'mesh-users' } } })
      withClaims(setup, LOST)
      expect((await setup.signIn('bob')).failure).to.include({ code: 'memberships_unknown' })
      expect(setup.lines('memberships-unknown')[0]?.fields.reason).to.match(/not in the ID token, and UserInfo gave no/)
    })

    // Shows: plugin 10.15.
    it('leaves rights and mirrored groups as they were if the ID token has no groups', async () => {
      const setup = await startRefusing({ oidc: { groups: { siteadmin: 'mesh-users', sync: true } } })
      const before = { siteAdmin: true, userGroups: ['mesh-users'] }
      expect((await setup.signIn('bob')).who).to.deep.include(before)
      withClaims(setup, LOST)
      expect((await setup.signIn('bob')).who).to.deep.include(before)
      setup.idp.faults.clear('userinfo')
      expect((await setup.signIn('bob')).who).to.deep.include({ siteAdmin: false, userGroups: [] })
    })

    it('changes nothing if the ID token has the groups', async () => {
      const setup = await startRefusing({ oidc: { groups: { required: 'mesh-users', sync: true } } })
      expect((await setup.signIn('bob')).who).to.deep.include({ status: 200, userGroups: ['mesh-users'] })
    })
  })

  for (const [what, members] of [
    ['issuer.userinfo_endpoint: false', { userinfo_endpoint: false }],
    ['the deprecated userInfoURL: false', undefined],
  ] as const) {
    // Shows: plugin 3.5.
    it(`is not asked with ${what}, and a missing groups claim means no groups`, async () => {
      const setup = await start({
        ...ID_TOKEN,
        oidc: ({ idp }) => ({
          issuer: members ? { issuer: idp.issuer, ...members } : idp.issuer,
          groups: { siteadmin: 'mesh-users' },
          ...(members ? {} : { userInfoURL: false }),
        }),
      })
      expect((await setup.signIn('bob')).who).to.include({ status: 200, siteAdmin: true, email: 'bob@example.test' })
      withClaims(setup, { name: 'Bob' })
      expect((await setup.signIn('bob')).who).to.include({ status: 200, siteAdmin: false })
      expect(setup.idp.requests('userinfo')).to.equal(0)
      expect(setup.lines('userinfo-failed')).to.deep.equal([])
    })
  }

  describe('that the IdP does not publish', () => {
    const withoutAccessToken = (told: unknown) => ({ ...(told as object), access_token: undefined })

    // Shows: plugin 10.15.
    it('is not missed in a login that gives no access token, as at Azure AD B2C', async () => {
      const setup = await start({ ...ID_TOKEN, publishes: { userinfo_endpoint: undefined } })
      setup.idp.faults.set('token', { kind: 'rewrite', body: withoutAccessToken })
      const { who, person } = await setup.signIn('bob')
      expect(who).to.include({ status: 200, id: '~oidc:u-1002', name: 'Bob Example', email: 'bob@example.test' })
      expect(await setup.isIn(person)).to.equal(true)
      expect((await person.get(`${setup.host.url}logout`)).status).to.equal(200)
      expect(JSON.stringify(setup.authLog) + setup.output.join('')).not.to.include('no-access-token')
    })

    it('turned off, is as little missed', async () => {
      const issuer = ({ idp }: Places) => ({ issuer: { issuer: idp.issuer, userinfo_endpoint: false } })
      const setup = await start({ ...ID_TOKEN, oidc: issuer })
      setup.idp.faults.set('token', { kind: 'rewrite', body: withoutAccessToken })
      expect((await setup.signIn('bob')).who).to.include({ status: 200, name: 'Bob Example' })
    })
  })

  // Shows: plugin 10.15.
  it('that is published refuses a login that gives no access token', async () => {
    const setup = await start(ID_TOKEN)
    const body = (told: unknown) => ({ ...(told as object), access_token: undefined })
    setup.idp.faults.set('token', { kind: 'rewrite', body })
    expect((await setup.signIn('bob')).failure).to.include({ code: 'token_request_failed' })
  })

  it('of an outage is in the status, as a warning and no refusal', async () => {
    const setup = await startRefusing()
    await setup.signIn('bob')
    const [status] = setup.host.status()
    expect(status?.refusals).to.deep.equal([])
    expect(status?.loginWarnings).to.have.length(1)
    expect(status?.loginWarnings[0]).to.deep.include({
      event: 'userinfo-failed',
      times: 1,
      account: null,
      otherAccount: null,
    })
  })
})
