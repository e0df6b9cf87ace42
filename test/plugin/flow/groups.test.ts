import { expect } from 'chai'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'

/** Claims that the scope `directory` adds to `groups`. */
const DIRECTORY = { directory: ['roles', 'team', 'teams'] }
const BOB = DEMO_USERS.find(({ username }) => username === 'bob')!

describe('groups at login', () => {
  const start = setups()
  const withGroups = (groups: object, more: SetupOptions = {}) =>
    start({ oidc: { groups }, idp: { scopes: DIRECTORY }, ...more })
  const setBob = ({ idp }: Setup, claims: Record<string, unknown>) =>
    idp.setUser({ ...BOB, claims: { ...BOB.claims, ...claims } })

  describe('group scope that the IdP refuses', () => {
    for (const [condition, endpoint, idp] of [
      ['the answer refuses it', 'interaction', {}],
      ['the request is pushed', 'pushed_authorization_request', { requirePushedRequests: true }],
      ['the code is redeemed', 'token', {}],
    ] as const) {
      it(`logs all requested scopes if the IdP refuses one: ${condition}`, async () => {
        const setup = await withGroups({}, { idp })
        setup.idp.faults.set(endpoint, { kind: 'error', error: 'invalid_scope', description: 'Invalid scopes' })
        const { page } = await setup.signIn('bob')
        expect(page.url).to.match(/failure=provider_refused$/)
        const line = setup.authLog.at(-1)
        expect(line?.fields).to.deep.include({
          code: 'scope_refused',
          error: 'invalid_scope',
          scopes: ['openid', 'profile', 'email', 'groups'],
        })
        expect(line?.message).to.match(/groups\.scope.*custom\.scope/)
      })
    }
  })

  describe('groups claim', () => {
    for (const claimsIn of ['id_token', 'userinfo'] as const) {
      // Shows: plugin 6.8, 6.9.
      it(`reads groups from a claim nested in objects of ${claimsIn}`, async () => {
        const groups = { scope: 'directory', claim: 'resource_access.mesh.roles', required: 'ops', sync: true }
        const scopes = { directory: ['realm_access', 'resource_access'] }
        const setup = await withGroups(groups, { idp: { scopes, claimsIn } })
        setBob(setup, { realm_access: { roles: ['else'] }, resource_access: { mesh: { roles: ['ops'] } } })
        expect((await setup.signIn('bob')).me).to.deep.include({ status: 200, userGroups: ['ops'] })
      })
    }

    // Shows: plugin 6.8.
    it('reads the member names of an object as groups, as Zitadel sends roles', async () => {
      const claim = 'urn:zitadel:iam:org:project:roles'
      const groups = { scope: 'directory', claim, required: 'ops', siteadmin: 'root', sync: true }
      const setup = await withGroups(groups, { idp: { scopes: { directory: [claim] } } })
      setBob(setup, { [claim]: { ops: { '2019': 'example.test' }, staff: { '2019': 'example.test' } } })
      expect((await setup.signIn('bob')).me).to.deep.include({ siteAdmin: false, userGroups: ['ops', 'staff'] })
      setBob(setup, { [claim]: { staff: { '2019': 'example.test' } } })
      expect((await setup.signIn('bob')).failure).to.include({ code: 'not_in_required_group' })
    })

    // Shows: plugin 6.2.
    it('reads groups from UserInfo if the ID token has none', async () => {
      const { signIn } = await withGroups(
        { required: ['ops', 'mesh-users'] },
        { idp: { claimsIn: 'id_token', groupsIn: 'userinfo' } },
      )
      expect((await signIn('bob')).me.status).to.equal(200)
    })
  })

  // Shows: plugin 6.2, 8.7.
  // Shows: meshcentral 10.
  it('refuses users outside groups.required, and names the rule only in the log', async () => {
    const setup = await withGroups({ required: ['ops', 'Mesh-Users'] })
    const { page, me } = await setup.signIn('bob')
    expect(page.url).to.match(/\/login\?failure=access_denied$/)
    expect(page.text).to.not.match(/ops|group/i)
    expect(me.status).to.equal(401)
    // No session existed, so no line reports ended sessions.
    const [line, ...otherLines] = setup.authLog
    expect(otherLines).to.deep.equal([])
    expect(line?.fields).to.include({ code: 'not_in_required_group', user: '~oidc:u-1002' })
    expect(line?.message).to.include('groups.required')
    expect(await setup.host.records.accounts.find('', '~oidc:u-1002')).to.equal(undefined)
  })

  // Shows: plugin 6.3, 6.4, 6.6.
  it('a login grants and revokes site admin and mirrored groups by the groups claim', async () => {
    const setup = await withGroups({ siteadmin: ['ops', 'admins'], sync: true })
    setBob(setup, { groups: ['ops', 'radio'] })
    const first = await setup.signIn('bob')
    expect(first.me).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['ops', 'radio'] })
    expect(setup.authLog.at(-1)?.fields).to.deep.include({ siteAdmin: 'grant', joined: ['ops', 'radio'] })
    setBob(setup, { groups: ['radio'] })
    const second = await setup.signIn('bob')
    expect(second.me).to.deep.include({ status: 200, siteAdmin: false, userGroups: ['radio'] })
    expect(setup.authLog.at(-1)?.fields).to.deep.include({ siteAdmin: 'revoke', left: ['ops'] })
  })

  it('a user in over 1,000 groups joins no mirrored group, but can be site admin', async () => {
    const setup = await withGroups({ siteadmin: 'ops', sync: true })
    setBob(setup, { groups: ['ops', 'radio'] })
    await setup.signIn('bob')
    setBob(setup, { groups: ['radio', ...Array.from({ length: 1_000 }, (_, index) => `own ${index}`)] })
    const { me } = await setup.signIn('bob')
    expect(me).to.deep.include({ status: 200, siteAdmin: false, userGroups: ['radio'] })
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login', 'groups-not-mirrored', 'login'])
    expect(setup.authLog[1]?.fields).to.include({ groups: 1_001 })
  })
})
