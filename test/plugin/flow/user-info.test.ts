import { expect } from 'chai'
import type { Fault } from '../../../fixtures/idp/faults.ts'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type Places, type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

const BOB = DEMO_USERS.find(({ username }) => username === 'bob')!
/**
 * AD FS and Entra ID put what they know into the ID token, but neither `email_verified` nor, for some users, groups.
 */
const ID_TOKEN: SetupOptions = { idp: { claimsIn: 'id_token', groupsIn: 'id_token', scopes: { email: ['email'] } } }
const refusing = (status: number, body = ''): Fault => ({ kind: 'answer', status, body })

describe('login with UserInfo', () => {
  const start = setups()
  const withClaims = (setup: Setup, claims: Record<string, unknown>) => setup.idp.setUser({ ...BOB, claims })
  /** Starts a setup with a UserInfo that refuses, as that of AD FS does for tokens of another audience. */
  async function startRefusing(options: SetupOptions = {}, fault: Fault = refusing(401)) {
    const setup = await start({ ...ID_TOKEN, ...options })
    setup.idp.faults.set('userinfo', fault)
    return setup
  }

  for (const [condition, fault, fields] of [
    ['answers 401', refusing(401), { status: 401 }],
    ['answers 403', refusing(403, '{"error":"insufficient_scope"}'), { status: 403, error: 'insufficient_scope' }],
    ['answers 404', refusing(404), { status: 404 }],
    ['answers 500', refusing(500, '<h1>oops</h1>'), { status: 500 }],
    ['redirects to a login page', { kind: 'redirect', to: 'https://login.test/' }, { status: 302 }],
    ['resets the connection', { kind: 'reset' }, { causeCode: 'ECONNRESET' }],
  ] as const satisfies readonly (readonly [string, Fault, object])[]) {
    // Shows: plugin 10.15.
    it(`a login uses the ID token's claims if UserInfo ${condition}`, async () => {
      const setup = await startRefusing({}, fault)
      const { me } = await setup.signIn('bob')
      expect(me).to.include({ status: 200, id: '~oidc:u-1002', name: 'Bob Example', email: 'bob@example.test' })
      expect(me.emailVerified).to.equal(null)
      const [warning, ...more] = setup.lines('userinfo-failed')
      expect(more).to.deep.equal([])
      expect(warning).to.deep.include({ level: 'warn', domain: '' })
      expect(warning?.fields).to.include({ endpoint: 'userinfo_endpoint', ...fields })
      expect(warning?.message).to.match(/issuer\.userinfo_endpoint.* false/)
    })
  }

  // Shows: plugin 10.15.
  it("a login uses the ID token's claims if UserInfo does not answer in time", async () => {
    const setup = await startRefusing({}, { kind: 'hang' })
    const login = setup.signIn('bob')
    await until('a UserInfo request', () => setup.idp.requests('userinfo') > 0)
    await setup.clock.pass(10_000)
    expect((await login).me).to.include({ status: 200, name: 'Bob Example' })
    expect(setup.lines('userinfo-failed')[0]?.fields).to.include({ causeCode: 'TIMEOUT' })
  })

  // Shows: plugin 10.15.
  it('warns of failing UserInfo once an hour, however many logins there are', async () => {
    const setup = await startRefusing()
    for (const [passMs, warnings] of [
      [0, 1],
      [60 * 60_000 - 1, 1],
      [1, 2],
    ] as const) {
      await setup.clock.advance(passMs)
      setup.idp.setClockAhead(setup.clock.elapsed())
      expect((await setup.signIn('bob')).me.status).to.equal(200)
      expect(setup.lines('userinfo-failed')).to.have.length(warnings)
    }
  })

  // Shows: plugin 10.15.
  it('an account keeps its e-mail address if UserInfo fails', async () => {
    const setup = await start({ idp: { claimsIn: 'userinfo' } })
    const stored = { status: 200, name: 'Bob Example', email: 'bob@example.test', emailVerified: true }
    expect((await setup.signIn('bob')).me).to.include(stored)
    setup.idp.faults.set('userinfo', refusing(503))
    expect((await setup.signIn('bob')).me).to.include(stored)
    setup.idp.faults.clear('userinfo')
    withClaims(setup, { name: 'Bob' })
    expect((await setup.signIn('bob')).me).to.include({ status: 200, name: 'Bob', email: null })
  })

  // Shows: plugin 10.15.
  it('refuses a login if UserInfo fails and the ID token lacks the id claim', async () => {
    const claims = { uuid: 'oid' }
    const custom = { scope: 'openid profile directory', claims }
    const setup = await startRefusing({
      oidc: { custom },
      idp: { claimsIn: 'userinfo', scopes: { directory: ['oid'] } },
    })
    withClaims(setup, { ...BOB.claims, oid: 'D-7' })
    const { me, failure } = await setup.signIn('bob')
    expect(me.status).to.equal(401)
    expect(failure).to.include({ code: 'userinfo_failed', missingClaim: 'oid', status: 401 })
    expect(setup.lines('userinfo-failed')).to.deep.equal([])
  })

  describe('UserInfo if users are identified by e-mail address', () => {
    const oidc = { custom: { claims: { uuid: 'email' } } }

    // Shows: plugin 10.15.
    it('refuses an unverified e-mail address in the ID token if UserInfo fails', async () => {
      const setup = await startRefusing({ oidc })
      const { me, failure } = await setup.signIn('bob')
      expect(me.status).to.equal(401)
      expect(failure).to.include({ code: 'userinfo_failed', missingClaim: 'email_verified' })
      expect(setup.lines('login-failed')[0]?.message).to.match(
        /may be unverified.*`issuer\.userinfo_endpoint` to false/,
      )
    })

    it('admits a verified e-mail address in the ID token if UserInfo fails', async () => {
      const setup = await startRefusing({ oidc, idp: { claimsIn: 'id_token' } })
      withClaims(setup, { email: 'bob@example.test', email_verified: true })
      expect((await setup.signIn('bob')).me).to.include({ status: 200, id: '~oidc:bob@example.test' })
    })

    it('refuses a login by an e-mail address that UserInfo calls unverified', async () => {
      const custom = { scope: 'openid email directory', claims: { uuid: 'email', email: 'mail', name: 'mail' } }
      const idp = { claimsIn: 'id_token', scopes: { email: ['email'], directory: ['mail'] } } as const
      const setup = await start({ oidc: { custom }, idp })
      withClaims(setup, { email: 'bob@example.test', mail: 'b@radio.test' })
      const body = (original: unknown) => ({ ...(original as object), email_verified: false })
      setup.idp.faults.set('userinfo', { kind: 'rewrite', body })
      expect((await setup.signIn('bob')).failure).to.include({ code: 'subject_unusable' })
    })
  })

  it('refuses a user identified by the claim mail if UserInfo has email_verified false', async () => {
    const custom = { scope: 'openid directory', claims: { uuid: 'mail', email: 'mail', name: 'mail' } }
    const idp = { claimsIn: 'id_token', scopes: { directory: ['mail'] } } as const
    const setup = await start({ oidc: { custom }, idp })
    withClaims(setup, { mail: 'b@radio.test' })
    const body = (original: unknown) => ({ ...(original as object), email_verified: false })
    setup.idp.faults.set('userinfo', { kind: 'rewrite', body })
    expect((await setup.signIn('bob')).failure).to.include({ code: 'subject_unusable' })
  })

  describe('login with group rules while UserInfo fails', () => {
    const LOST = { name: 'Bob', email: 'bob@example.test' }

    // Shows: plugin 10.15.
    it('refuses a user if UserInfo fails and the ID token lacks the required groups', async () => {
      const setup = await startRefusing({ oidc: { groups: { required: 'mesh-users' } } })
      withClaims(setup, LOST)
      expect((await setup.signIn('bob')).failure).to.include({ code: 'memberships_unknown' })
      expect(setup.lines('memberships-unknown')[0]?.fields.reason).to.match(/not in the ID token, and UserInfo gave no/)
    })

    // Shows: plugin 10.15.
    it('a user keeps rights and groups if UserInfo fails and the ID token has no groups', async () => {
      const setup = await startRefusing({ oidc: { groups: { siteadmin: 'mesh-users', sync: true } } })
      const expected = { siteAdmin: true, userGroups: ['mesh-users'] }
      expect((await setup.signIn('bob')).me).to.deep.include(expected)
      withClaims(setup, LOST)
      expect((await setup.signIn('bob')).me).to.deep.include(expected)
      setup.idp.faults.clear('userinfo')
      expect((await setup.signIn('bob')).me).to.deep.include({ siteAdmin: false, userGroups: [] })
    })

    it("admits a user by the ID token's groups if UserInfo fails", async () => {
      const setup = await startRefusing({ oidc: { groups: { required: 'mesh-users', sync: true } } })
      expect((await setup.signIn('bob')).me).to.deep.include({ status: 200, userGroups: ['mesh-users'] })
    })
  })

  it('requests no UserInfo if the ID token has all claims that a login reads', async () => {
    const setup = await start({ idp: { claimsIn: 'id_token', groupsIn: 'id_token' } })
    expect((await setup.signIn('bob')).me).to.include({ status: 200, email: 'bob@example.test' })
    expect(setup.idp.requests('userinfo')).to.equal(0)
    withClaims(setup, { name: 'Bob' })
    await setup.signIn('bob')
    expect(setup.idp.requests('userinfo')).to.equal(1)
  })

  for (const [setting, members] of [
    ['issuer.userinfo_endpoint: false', { userinfo_endpoint: false }],
    ['the deprecated userInfoURL: false', undefined],
  ] as const) {
    // Shows: plugin 3.5.
    it(`without a groups claim in the ID token, a user has no groups with ${setting}`, async () => {
      const setup = await start({
        ...ID_TOKEN,
        oidc: ({ idp }) => ({
          issuer: members ? { issuer: idp.issuer, ...members } : idp.issuer,
          groups: { siteadmin: 'mesh-users' },
          ...(members ? {} : { userInfoURL: false }),
        }),
      })
      expect((await setup.signIn('bob')).me).to.include({ status: 200, siteAdmin: true, email: 'bob@example.test' })
      withClaims(setup, { name: 'Bob' })
      expect((await setup.signIn('bob')).me).to.include({ status: 200, siteAdmin: false })
      expect(setup.idp.requests('userinfo')).to.equal(0)
      expect(setup.lines('userinfo-failed')).to.deep.equal([])
    })
  }

  describe('IdP without UserInfo endpoint', () => {
    const withoutAccessToken = (original: unknown) => ({ ...(original as object), access_token: undefined })

    // Shows: plugin 10.15.
    it('a login succeeds without access token if the IdP has no UserInfo endpoint', async () => {
      const setup = await start({ ...ID_TOKEN, publishes: { userinfo_endpoint: undefined } })
      setup.idp.faults.set('token', { kind: 'rewrite', body: withoutAccessToken })
      const { me, person } = await setup.signIn('bob')
      expect(me).to.include({ status: 200, id: '~oidc:u-1002', name: 'Bob Example', email: 'bob@example.test' })
      expect(await setup.isIn(person)).to.equal(true)
      expect((await person.get(`${setup.host.url}logout`)).status).to.equal(200)
      expect(JSON.stringify(setup.authLog) + setup.output.join('')).not.to.include('no-access-token')
    })

    it('a login succeeds without access token if issuer.userinfo_endpoint is false', async () => {
      const issuer = ({ idp }: Places) => ({ issuer: { issuer: idp.issuer, userinfo_endpoint: false } })
      const setup = await start({ ...ID_TOKEN, oidc: issuer })
      setup.idp.faults.set('token', { kind: 'rewrite', body: withoutAccessToken })
      expect((await setup.signIn('bob')).me).to.include({ status: 200, name: 'Bob Example' })
    })
  })

  // Shows: plugin 10.15.
  it('refuses a login without access token if the IdP has a UserInfo endpoint', async () => {
    const setup = await start({ idp: { claimsIn: 'id_token', groupsIn: 'id_token' } })
    const body = (original: unknown) => ({ ...(original as object), access_token: undefined })
    setup.idp.faults.set('token', { kind: 'rewrite', body })
    expect((await setup.signIn('bob')).failure).to.include({ code: 'token_request_failed' })
  })

  it('status lists a UserInfo outage as a warning, not as a refusal', async () => {
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
