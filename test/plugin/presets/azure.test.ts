import { expect } from 'chai'
import { type GraphGroup, startMicrosoftGraph } from '../../../fixtures/idp/vendors/microsoft-graph.ts'
import type { VendorApi, VendorApiOptions } from '../../../fixtures/idp/vendors/vendor-api.ts'
import { decideAccess } from '../../../plugin/login/groups/access.ts'
import { groupChanges } from '../../../plugin/login/groups/group-sync.ts'
import { isNamed } from '../../../plugin/login/groups/memberships.ts'
import { profileOf } from '../../../plugin/login/profile.ts'
import { azurePreset } from '../../../plugin/presets/azure.ts'
import { openPreset } from '../../../plugin/presets/presets.ts'
import { CLIENT, settingsOf } from '../config/single-domain.ts'
import { failuresContract, startStranger } from './failures.contract.ts'
import { knows, namesOf as names, reasonOf, TOKEN, vendorAccess } from './vendor-fetch.ts'

const ALICE = 'alice'
const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const guid = (index: number) =>
  `0000000${index.toString(16)}-aaaa-4bbb-8ccc-${index.toString().padStart(12, '0')}`.slice(-36)
const OPS: GraphGroup = { id: guid(1), displayName: 'Ops' }
const STAFF: GraphGroup = { id: guid(2), displayName: 'Staff' }
const ADMINS: GraphGroup = { id: guid(3), displayName: 'Admins' }

const settings = (groups?: object) =>
  settingsOf({ client: CLIENT, custom: { preset: 'azure', tenant_id: TENANT }, ...(groups ? { groups } : {}) })

describe('azure preset', () => {
  let api: VendorApi<GraphGroup>
  let stranger: Awaited<ReturnType<typeof startStranger>> | undefined
  const start = async (scopes = ['openid', 'Group.Read.All'], more: Partial<VendorApiOptions> = {}) => {
    await api?.close()
    api = await startMicrosoftGraph({ authenticate: knows({ user: ALICE, scopes }), ...more })
  }
  beforeEach(() => start())
  afterEach(async () => {
    await api.close()
    await stranger?.close()
    stranger = undefined
  })

  const memberships = (groups: object = {}, claims: Record<string, unknown> = {}) =>
    azurePreset(`${api.url}//`, vendorAccess()).memberships({ claims, accessToken: TOKEN }, settings(groups))

  // Shows: plugin 6.8.
  it('requests Group.Read.All or the configured scope only if groups are configured', () => {
    const { scopes } = openPreset('azure', {}, vendorAccess())
    expect(scopes(settings({}))).to.deep.equal(['Group.Read.All'])
    expect(scopes(settings({ scope: 'GroupMember.Read.All' }))).to.deep.equal(['GroupMember.Read.All'])
    expect(scopes(settings())).to.deep.equal([])
  })

  it('needs the scope offline_access for refresh tokens', () => {
    expect(openPreset('azure', {}, vendorAccess()).renewalScope).to.equal('offline_access')
  })

  it('requests groups from graph.microsoft.com by default', async () => {
    const urls: string[] = []
    const fetch = async (url: string) => {
      urls.push(url)
      return Response.json({ value: [] })
    }
    const preset = openPreset('azure', {}, { ...vendorAccess(), fetch })
    await preset.memberships({ claims: {}, accessToken: TOKEN }, settings({}))
    expect(urls.map((url) => new URL(url).origin)).to.deep.equal(['https://graph.microsoft.com'])
  })

  it('reads groups from the claim roles only if custom.authorities is roles', () => {
    const { groupsClaim } = openPreset('azure', {}, vendorAccess())
    const custom = { preset: 'azure', tenant_id: TENANT, authorities: 'roles' }
    for (const groups of [undefined, {}]) {
      expect(groupsClaim(settings(groups))).to.equal(null)
      expect(groupsClaim(settingsOf({ client: CLIENT, custom, ...(groups ? { groups } : {}) }))).to.equal('roles')
    }
  })

  // Shows: plugin 6.13.
  it('a user has no groups if Microsoft Graph refuses because the scope is not granted', async () => {
    await start(['openid'])
    const membershipsWith = (grantedScopes: readonly string[] | null) => {
      const evidence = { claims: {}, accessToken: TOKEN, grantedScopes }
      return azurePreset(api.url, vendorAccess()).memberships(evidence, settings({}))
    }
    expect(await membershipsWith(['openid', 'User.Read'])).to.deep.equal([])
    for (const granted of [null, ['Group.Read.All'], ['https://graph.microsoft.com/Group.Read.All']]) {
      expect(await reasonOf(membershipsWith(granted))).to.match(/answered the request for groups with 403/)
    }
  })

  it('groups are unknown if Graph fails in a way that a missing scope does not explain', async () => {
    await start(['Group.Read.All'], { mostPerPage: 1 })
    api.setGroups(ALICE, { direct: [OPS, STAFF] })
    const reasonWith = (groups: object, claims = {}) => {
      const evidence = { claims, accessToken: TOKEN, grantedScopes: ['openid'] }
      return reasonOf(azurePreset(api.url, vendorAccess()).memberships(evidence, settings(groups)))
    }
    api.fail(403)
    expect(await reasonWith({ scope: '' })).to.match(/ with 403$/)
    expect(await reasonWith({ claim: 'groups' }, { hasgroups: true })).to.match(/ with 403$/)
    api.fail(403, 1)
    expect(await reasonWith({})).to.match(/ with 403$/)
    api.fail(500)
    expect(await reasonWith({})).to.match(/ with 500$/)
    api.fail({ kind: 'answer', status: 200, body: '{}' })
    expect(await reasonWith({})).to.match(/did not answer with a list of groups$/)
  })

  // Shows: plugin 5.9.
  it('reads app roles instead of groups or in addition, as custom.authorities says', async () => {
    api.setGroups(ALICE, { direct: [OPS] })
    const rolesAndScopes = async (authorities: unknown, claims: Record<string, unknown>, groups = {}) => {
      const baseSettings = settings(groups)
      const preset = azurePreset(api.url, vendorAccess())
      const custom = { ...baseSettings.custom, authorities: [authorities].flat() as readonly string[] }
      const changed = { ...baseSettings, custom }
      return [names(await preset.memberships({ claims, accessToken: TOKEN }, changed)), preset.scopes(changed)]
    }
    expect(await rolesAndScopes('roles', { roles: ['Mesh.Admin'] })).to.deep.equal([['Mesh.Admin'], []])
    expect(await rolesAndScopes('roles', {})).to.deep.equal([[], []])
    for (const all of ['roles', ['roles', 'groups']])
      expect((await rolesAndScopes(all, { roles: 5 }))[0]).to.equal('unknown')
    const claimed = { roles: ['Mesh.Admin'], groups: [OPS.id] }
    expect((await rolesAndScopes('roles', claimed, { claim: 'groups' }))[0]).to.deep.equal([OPS.id])
    expect(await rolesAndScopes(['roles', 'groups'], { roles: ['Mesh.Admin'] })).to.deep.equal([
      ['Mesh.Admin', 'Ops'],
      ['Group.Read.All'],
    ])
  })

  it('matches a group by its object id or display name, exactly as spelled', async () => {
    api.setGroups(ALICE, { direct: [OPS] })
    const rule = async (required: string) => decideAccess(await memberships(), settings({ required }).groups).admitted
    for (const name of [OPS.id, 'Ops']) expect(await rule(name), name).to.equal(true)
    for (const name of ['ops', 'Op', OPS.id.slice(1), ADMINS.id]) expect(await rule(name), name).to.equal(false)
  })

  it('matches an object id in any letter case, in rules and for mirrored groups', async () => {
    const id = 'ABCDEF01-aaaa-4bbb-8ccc-000000000001'
    api.setGroups(ALICE, { direct: [{ id, displayName: 'Ops' }] })
    for (const required of [id, id.toLowerCase(), id.toUpperCase()]) {
      expect(decideAccess(await memberships(), settings({ required }).groups).admitted, required).to.equal(true)
    }
    const byId = await memberships({ claim: 'groups' }, { groups: [id] })
    expect(groupChanges(byId, 'all', [id.toLowerCase()])).to.deep.equal({ join: [], leave: [] })
    expect(groupChanges(byId, [id.toLowerCase()], [])).to.deep.equal({ join: [id], leave: [] })
    expect(groupChanges([], 'all', [id.toLowerCase()])).to.deep.equal({ join: [], leave: [id.toLowerCase()] })
  })

  it('requests each page of groups with the header ConsistencyLevel: eventual', async () => {
    await start(['GroupMember.Read.All'], { mostPerPage: 1 })
    api.setGroups(ALICE, { direct: [OPS, STAFF] })
    expect(names(await memberships())).to.deep.equal(['Ops', 'Staff'])
    expect(api.requests.map(({ headers }) => headers.consistencylevel)).to.deep.equal(['eventual', 'eventual'])
  })

  describe('groups claim in the token while groups.claim is not set', () => {
    const claims = { groups: [OPS.id, STAFF.id] }

    it('requests nothing from Graph if all rules are object ids and no group is mirrored', async () => {
      const rights = { [ADMINS.id]: ['manageusers'] }
      for (const groups of [{}, { required: OPS.id.toUpperCase(), siteadmin: ADMINS.id, rights }]) {
        expect(names(await memberships(groups, claims))).to.deep.equal([OPS.id, STAFF.id])
      }
      const evidence = { claims, accessToken: null }
      const preset = azurePreset(api.url, vendorAccess())
      expect(names(await preset.memberships(evidence, settings({ required: OPS.id })))).to.have.length(2)
      expect(api.requests).to.deep.equal([])
    })

    it('requests groups from Graph if rules or mirrored groups need display names', async () => {
      api.setGroups(ALICE, { direct: [OPS] })
      const cases: readonly (readonly [object, Record<string, unknown>])[] = [
        [{ required: 'Ops' }, claims],
        [{ required: OPS.id, siteadmin: [ADMINS.id, 'Admins'] }, claims],
        [{ required: OPS.id, rights: { Ops: ['manageusers'] } }, claims],
        [{ required: OPS.id, sync: true }, claims],
        [{ required: OPS.id, sync: { filter: OPS.id } }, claims],
        [{ required: OPS.id }, {}],
        [{ required: OPS.id }, { groups: [OPS.id, 'CORP\\ops'] }],
        [{ required: OPS.id }, { groups: 7 }],
        [{ required: OPS.id }, { _claim_names: { groups: 'src1' } }],
        [{ required: OPS.id }, { hasgroups: true }],
      ]
      for (const [groups, otherClaims] of cases)
        expect(names(await memberships(groups, otherClaims)), JSON.stringify(groups)).to.deep.equal(['Ops'])
      expect(api.requests).to.have.length(cases.length)
    })
  })

  it('requests from Graph only the groups of the signed-in user', async () => {
    api.setGroups(ALICE, { direct: [OPS] })
    api.setGroups('bob', { direct: [ADMINS] })
    expect(names(await memberships())).to.deep.equal(['Ops'])
    expect(api.requests.map(({ path, query }) => [path, query])).to.deep.equal([
      ['/v1.0/me/memberOf/microsoft.graph.group', { $select: 'id,displayName', $top: '999', $count: 'true' }],
    ])
  })

  // Shows: plugin 6.1.
  it('requests indirect memberships from Graph only if groups.recursive is true', async () => {
    api.setGroups(ALICE, { direct: [OPS], indirect: [STAFF] })
    expect(names(await memberships())).to.deep.equal(['Ops'])
    expect(names(await memberships({ recursive: true }))).to.deep.equal(['Ops', 'Staff'])
    expect(api.requests.at(-1)?.path).to.equal('/v1.0/me/transitiveMemberOf/microsoft.graph.group')
  })

  it('two groups with the same display name are separate memberships', async () => {
    const twins = [OPS, { ...STAFF, displayName: 'Ops' }]
    api.setGroups(ALICE, { direct: twins })
    const groups = await memberships()
    if (groups === 'unknown') throw new Error('unknown')
    expect(groups.filter((membership) => isNamed(membership, 'Ops'))).to.have.length(2)
    for (const { id } of twins) expect(groups.filter((membership) => isNamed(membership, id))).to.have.length(1)
  })

  it('ignores a display name that is the object id of another group', async () => {
    for (const displayName of [ADMINS.id, ADMINS.id.toUpperCase()]) {
      api.setGroups(ALICE, { direct: [{ ...OPS, displayName }] })
      const groups = await memberships()
      expect(decideAccess(groups, settings({ required: displayName }).groups).admitted).to.equal(false)
      expect(groups).to.deep.equal([{ name: OPS.id, aliases: [] }])
    }
  })

  it('groups are unknown if the access token lacks permission to read group names', async () => {
    await start(['openid', 'User.Read'])
    api.setGroups(ALICE, { direct: [OPS] })
    expect(await reasonOf(memberships())).to.match(/does not give access to the names of groups/)
  })

  it('sends the access token for Graph to no other host, scheme or port', async () => {
    stranger = await startStranger()
    const { port, strangerRequests } = stranger
    api.setGroups(ALICE, { direct: [OPS] })
    const link = (next: string) =>
      api.fail({ kind: 'rewrite', body: (page) => ({ ...(page as object), '@odata.nextLink': next }) })
    for (const next of [
      `http://127.0.0.1:${port}/v1.0/me/memberOf`,
      `http://localhost:${port}/`,
      'http://169.254.169.254/latest',
      api.url.replace('http:', 'https:'),
      `//127.0.0.1:${port}/`,
      '/v1.0/me/memberOf?$skiptoken=x',
      'file:///etc/passwd',
      `${api.url}@127.0.0.1:${port}/`,
    ]) {
      link(next)
      expect(await reasonOf(memberships()), next).to.match(/at another host$|did not answer with a list of groups$/)
    }
    link(api.url.replace('127.0.0.1', 'user:word@127.0.0.1'))
    expect(await reasonOf(memberships())).to.match(/TypeError$/)
    expect(strangerRequests).to.deep.equal([])
  })

  it("groups are unknown if Graph's list is incomplete", async () => {
    for (const body of [
      ...[7, null, ''].map((next) => ({ value: [OPS], '@odata.nextLink': next })),
      ...[OPS, [{ displayName: 'Ops' }], [OPS, { displayName: 'Staff' }], ['Ops'], [null], undefined].map((value) => ({
        value,
      })),
      { error: { code: 'Authorization_RequestDenied' } },
    ]) {
      api.fail({ kind: 'rewrite', body: () => body })
      for (const [groups, claims] of [[], [{ claim: 'groups' }, { hasgroups: true }]])
        expect(await reasonOf(memberships(groups, claims)), JSON.stringify(body)).to.match(
          /did not answer with a list of groups$/,
        )
    }
  })

  describe('configured groups.claim with the azure preset', () => {
    const roles = { claim: 'roles' }

    // Shows: plugin 6.9.
    it('with groups.claim, reads that claim, and needs neither Graph nor its scope', async () => {
      await start([])
      const { scopes, groupsClaim } = openPreset('azure', {}, vendorAccess())
      expect(scopes(settings(roles))).to.deep.equal([])
      expect(groupsClaim(settings(roles))).to.equal('roles')
      expect(names(await memberships(roles, { roles: ['Mesh.Admin'] }))).to.deep.equal(['Mesh.Admin'])
      expect(names(await memberships({ claim: 'groups' }, { groups: [OPS.id] }))).to.deep.equal([OPS.id])
      expect(await memberships(roles, {})).to.deep.equal([])
      expect(await memberships(roles, { roles: 7 })).to.equal('unknown')
      const tooMany = { _claim_names: { groups: 'src1' }, hasgroups: true }
      expect(names(await memberships({ claim: 'groups' }, { groups: [OPS.id], ...tooMany }))).to.deep.equal([OPS.id])
      expect(
        await memberships({ claim: 'groups' }, { _claim_names: { other: 'src1' }, hasgroups: false }),
      ).to.deep.equal([])
      expect(names(await memberships(roles, { ...tooMany, roles: ['Mesh.Admin'] }))).to.deep.equal(['Mesh.Admin'])
      expect(api.requests).to.deep.equal([])
    })

    it('requests groups from Graph if the user has too many groups for the token', async () => {
      api.setGroups(ALICE, { direct: [OPS], indirect: [STAFF] })
      for (const marker of [
        { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'http://169.254.169.254/' } } },
        { hasgroups: true },
        { hasgroups: 'true' },
      ]) {
        const groups = { claim: 'groups', required: OPS.id }
        expect(decideAccess(await memberships(groups, marker), settings(groups).groups).admitted).to.equal(true)
        expect(names(await memberships({ ...groups, recursive: true }, marker))).to.deep.equal([OPS.id, STAFF.id])
      }
      expect(new Set(api.requests.map(({ path }) => path)).size).to.equal(2)
    })

    it('groups from Graph have their object ids as names, like groups in the claim', async () => {
      api.setGroups(ALICE, { direct: [OPS, { ...STAFF, displayName: ADMINS.id }] })
      expect(await memberships({ claim: 'groups' }, { _claim_names: { groups: 'src1' } })).to.deep.equal([
        { name: OPS.id, aliases: ['Ops'] },
        { name: STAFF.id, aliases: [] },
      ])
      await start(['User.Read'])
      api.setGroups(ALICE, { direct: [OPS] })
      expect(await memberships({ claim: 'groups' }, { hasgroups: true })).to.deep.equal([{ name: OPS.id, aliases: [] }])
    })

    it('groups are unknown if the user has too many groups for the token and Graph fails', async () => {
      const overage = { _claim_names: { groups: 'src1' } }
      api.fail(403)
      expect(await reasonOf(memberships({ claim: 'groups' }, overage))).to.match(/ with 403$/)
      const noToken = { claims: { hasgroups: true }, accessToken: null }
      const preset = azurePreset(api.url, vendorAccess())
      expect(await reasonOf(preset.memberships(noToken, settings({ claim: 'groups' })))).to.match(
        /needs an access token/,
      )
      expect(await reasonOf(memberships(roles, { _claim_names: { roles: 'src1' } }))).to.match(
        /refers to another place$/,
      )
    })
  })

  describe('identity of a user at Azure', () => {
    const { claims } = azurePreset('https://graph.invalid', vendorAccess())
    const names = { uuid: 'sub', name: 'name', email: 'email' }

    it('preferred_username replaces a missing email address, but is never verified', () => {
      for (const missing of [{}, { email: '' }, { email: null }]) {
        const input = { sub: '1', preferred_username: 'alice@corp.example', email_verified: true, ...missing }
        expect(profileOf(claims(input), names)).to.include({ email: 'alice@corp.example', emailVerified: false })
      }
    })

    it('an existing email claim is unchanged by preferred_username', () => {
      const input = {
        sub: '1',
        email: 'a@corp.example',
        email_verified: true,
        preferred_username: 'other@corp.example',
      }
      expect(claims(input)).to.equal(input)
      expect(claims({ sub: '1' })).to.deep.equal({ sub: '1' })
    })

    it('an address from a claim other than email counts as unverified', () => {
      const input = {
        sub: '1',
        preferred_username: 'root@corp.example',
        upn: 'root@corp.example',
        email_verified: true,
      }
      for (const email of ['preferred_username', 'upn']) {
        for (const more of [{}, { email: 'alice@corp.example' }]) {
          const profile = profileOf(claims({ ...input, ...more }), { ...names, email })
          expect(profile).to.include({ email: 'root@corp.example', emailVerified: false })
        }
      }
    })
  })

  describe('failures of Microsoft Graph', () => {
    beforeEach(() => start(['Group.Read.All'], { mostPerPage: 1 }))
    failuresContract(() => ({
      api,
      memberships: (access, accessToken = TOKEN) =>
        azurePreset(api.url, access).memberships({ claims: {}, accessToken }, settings({})),
      fillPages: (pages) =>
        api.setGroups(ALICE, {
          direct: Array.from({ length: pages }, (_, index) => ({ id: guid(index), displayName: `Group ${index}` })),
        }),
    }))
  })
})
