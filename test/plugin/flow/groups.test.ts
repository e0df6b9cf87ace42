import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type Setup, type SetupOptions, setups, whoAmI } from '../../support/sign-in-setup.ts'

/** Claims beside `groups` that the scope `directory` brings. */
const DIRECTORY = { directory: ['roles', 'team', 'teams'] }
const BOB = DEMO_USERS.find(({ username }) => username === 'bob')!

describe('groups in a whole login', () => {
  const { start, closeAll } = setups()
  afterEach(closeAll)

  const withGroups = (groups: object, more: SetupOptions = {}) =>
    start({ oidc: { groups }, idp: { scopes: DIRECTORY }, ...more })
  const setBob = ({ idp }: Setup, claims: Record<string, unknown>) =>
    idp.setUser({ ...BOB, claims: { ...BOB.claims, ...claims } })
  const signIn = async (setup: Setup, person: ScriptedBrowser = setup.browser()) => {
    const page = await person.login(setup.host.url, 'bob', 'bob-demo')
    return { page, person, who: await whoAmI(person, setup.host.url), line: setup.authLog.at(-1) }
  }

  describe('scope', () => {
    const asked = async (setup: Setup) =>
      new URL((await setup.browser().step(`${setup.host.url}auth-oidc`)).headers.location ?? '').searchParams
        .get('scope')
        ?.split(' ')

    it('is not asked for without groups', async () => {
      expect(await asked(await start())).to.deep.equal(['openid', 'profile', 'email'])
    })

    it('is groups by default, beside the others', async () => {
      expect(await asked(await withGroups({}))).to.deep.equal(['openid', 'profile', 'email', 'groups'])
    })

    it('is the configured one, and brings what it stands for', async () => {
      const setup = await withGroups({ scope: 'directory', claim: 'roles', required: 'ops' })
      expect(await asked(setup)).to.deep.equal(['openid', 'profile', 'email', 'directory'])
      setBob(setup, { roles: ['ops'] })
      expect((await signIn(setup)).who.status).to.equal(200)
    })
  })

  describe('scope that is empty or false', () => {
    it('asks for none, and takes the claim all the same', async () => {
      const setup = await start({
        oidc: { groups: { scope: false, sync: true } },
        idp: { scopes: { profile: ['name', 'groups'], groups: [] } },
      })
      const asked = (await setup.browser().step(`${setup.host.url}auth-oidc`)).headers.location ?? ''
      expect(new URL(asked).searchParams.get('scope')).to.equal('openid profile email')
      expect((await signIn(setup)).who.userGroups).to.deep.equal(['mesh-users'])
    })
  })

  describe('scope that the IdP refuses', () => {
    const REFUSED = { error: 'invalid_scope', error_description: 'Invalid scopes' }
    const expectScopes = ({ authLog }: Setup) => {
      const line = authLog.at(-1)
      expect(line?.fields).to.deep.include({ code: 'scope_refused', error: 'invalid_scope' })
      expect(line?.fields.scopes).to.deep.equal(['openid', 'profile', 'email', 'groups'])
      expect(line?.message).to.match(/groups\.scope/)
      expect(line?.message).to.match(/custom\.scope/)
    }

    it('is told of with all that were asked for, where the answer says so', async () => {
      const setup = await withGroups({})
      const person = setup.browser()
      const asked = new URL((await person.step(`${setup.host.url}auth-oidc`)).headers.location!).searchParams
      const answer = new URLSearchParams({ ...REFUSED, state: asked.get('state')!, iss: setup.idp.issuer })
      const { headers } = await person.step(`${setup.host.url}auth-oidc-callback?${answer}`)
      expect(headers.location).to.equal('/login?failure=provider_refused')
      expectScopes(setup)
    })

    for (const [where, endpoint, idp] of [
      ['the request is pushed', 'pushed_authorization_request', { requirePushedRequests: true }],
      ['the code is redeemed', 'token', {}],
    ] as const) {
      it(`is told of with all that were asked for, where ${where}`, async () => {
        const setup = await withGroups({}, { idp })
        setup.idp.faults.set(endpoint, { kind: 'answer', status: 400, body: JSON.stringify(REFUSED) })
        await signIn(setup).catch(() => undefined)
        expectScopes(setup)
      })
    }
  })

  describe('claim', () => {
    it('may be a path into objects, in the ID token and in UserInfo', async () => {
      for (const claimsIn of ['id_token', 'userinfo'] as const) {
        const scopes = { directory: ['realm_access', 'resource_access'] }
        const setup = await withGroups(
          { scope: 'directory', claim: 'resource_access.mesh.roles', required: 'ops', sync: true },
          { idp: { scopes, claimsIn } },
        )
        setBob(setup, { realm_access: { roles: ['else'] }, resource_access: { mesh: { roles: ['ops'] } } })
        expect((await signIn(setup)).who).to.deep.include({ status: 200, userGroups: ['ops'] })
        expect(setup.idp.requests('userinfo')).to.equal(claimsIn === 'userinfo' ? 1 : 0)
        setBob(setup, { resource_access: { mesh: { roles: ['staff'] } } })
        expect((await signIn(setup)).line?.fields.code).to.equal('not_in_required_group')
      }
    })

    it('is groups by default', async () => {
      const setup = await withGroups({ sync: true })
      expect((await signIn(setup)).who.userGroups).to.deep.equal(['mesh-users'])
    })

    it('is taken from UserInfo where the ID token does not have it', async () => {
      const setup = await withGroups(
        { required: 'mesh-users' },
        { idp: { claimsIn: 'id_token', groupsIn: 'userinfo' } },
      )
      expect((await signIn(setup)).who.status).to.equal(200)
    })
  })

  describe('required', () => {
    it('lets in who is in one of them', async () => {
      expect((await signIn(await withGroups({ required: ['ops', 'mesh-users'] }))).who.status).to.equal(200)
    })

    it('refuses who is in none of them: no session, no account, the rule in the log only', async () => {
      const setup = await withGroups({ required: ['ops', 'Mesh-Users'] })
      const { page, who, line } = await signIn(setup)
      expect(page.url).to.match(/\/login\?failure=access_denied$/)
      expect(page.text).to.not.match(/ops|group/i)
      expect(who.status).to.equal(401)
      expect(line?.fields).to.include({ code: 'not_in_required_group', user: '~oidc:u-1002' })
      expect(line?.message).to.include('groups.required')
      expect(await setup.host.records.accounts.find('', '~oidc:u-1002')).to.equal(undefined)
    })
  })

  describe('siteadmin', () => {
    it('gives who is in one of them all rights', async () => {
      const { who, line } = await signIn(await withGroups({ siteadmin: ['ops', 'mesh-users'] }))
      expect(who).to.include({ status: 200, siteAdmin: true })
      expect(line?.fields).to.include({ siteAdmin: 'grant' })
    })

    it('takes the rights of who is in none of them', async () => {
      const setup = await withGroups({ siteadmin: 'ops' })
      await signIn(setup)
      await setup.host.records.accounts.setSiteAdmin('', '~oidc:u-1002', true)
      const { who, line } = await signIn(setup)
      expect(who).to.include({ status: 200, siteAdmin: false })
      expect(line?.fields).to.include({ siteAdmin: 'revoke' })
    })
  })

  describe('sync', () => {
    it('as true makes every group when it is first needed, and puts its members in', async () => {
      const setup = await withGroups({ sync: true })
      setBob(setup, { groups: ['ops', 'radio'] })
      const { who, line } = await signIn(setup)
      expect(who.userGroups).to.deep.equal(['ops', 'radio'])
      expect(line?.fields.joined).to.deep.equal(['ops', 'radio'])
    })
  })

  describe('recursive', () => {
    it('changes nothing where groups come in a claim: the IdP has counted already', async () => {
      for (const recursive of [true, false]) {
        const setup = await withGroups({ recursive, sync: true })
        expect((await signIn(setup)).who.userGroups, String(recursive)).to.deep.equal(['mesh-users'])
      }
    })
  })

  it('are not mirrored beyond 1,000, which is said, while rights still go by all of them', async () => {
    const setup = await withGroups({ siteadmin: 'ops', sync: true })
    setBob(setup, { groups: ['ops', 'radio'] })
    await signIn(setup)
    setBob(setup, { groups: ['radio', ...Array.from({ length: 1_000 }, (_, at) => `own ${at}`)] })
    const { who } = await signIn(setup)
    expect(who).to.deep.include({ status: 200, siteAdmin: false, userGroups: ['radio'] })
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login', 'groups-not-mirrored', 'login'])
    expect(setup.authLog[1]?.fields).to.include({ groups: 1_001 })
  })

  describe('that cannot be learned', () => {
    const unusable = { groups: 7 }

    it('refuse where one is required, and say so', async () => {
      const setup = await withGroups({ required: 'mesh-users' })
      setBob(setup, unusable)
      const { page, who } = await signIn(setup)
      expect(page.url).to.match(/\/login\?failure=login_failed$/)
      expect(who.status).to.equal(401)
      expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['memberships-unknown', 'login-failed'])
      expect(setup.authLog[1]?.fields).to.include({ code: 'memberships_unknown' })
    })
  })
})
