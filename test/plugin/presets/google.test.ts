import { expect } from 'chai'
import fc from 'fast-check'
import {
  type GoogleGroup,
  type GoogleGroupsOptions,
  startGoogleGroups,
} from '../../../fixtures/idp/vendors/google-groups.ts'
import { parseMembershipQuery } from '../../../fixtures/idp/vendors/membership-query.ts'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import { decideAccess } from '../../../plugin/login/groups/access.ts'
import { googlePreset } from '../../../plugin/presets/google.ts'
import { openPreset } from '../../../plugin/presets/presets.ts'
import { CLIENT, settingsOf } from '../config/single-domain.ts'
import { failuresContract } from './failures.contract.ts'
import { knows, namesOf as names, reasonOf, TOKEN, vendorAccess } from './vendor-fetch.ts'

const ALICE = 'alice@corp.example'
const SCOPE = 'https://www.googleapis.com/auth/cloud-identity.groups.readonly'

const settings = (groups: object | undefined = {}, customer_id = 'C046psxkn') =>
  settingsOf({ client: CLIENT, custom: { preset: 'google', customer_id }, ...(groups ? { groups } : {}) })
const group = (name: string, more: Partial<GoogleGroup> = {}): GoogleGroup => ({
  group: `groups/0${name}`,
  address: `${name}@corp.example`,
  displayName: `The ${name}`,
  customer: 'C046psxkn',
  ...more,
})
const verified = (email: string) => ({ sub: '1', email, email_verified: true })

describe('google preset', () => {
  let api: VendorApi<GoogleGroup>
  const start = async (more: Partial<GoogleGroupsOptions> = {}) => {
    await api?.close()
    api = await startGoogleGroups({ authenticate: knows({ user: ALICE, scopes: ['openid', SCOPE] }), ...more })
  }
  beforeEach(() => start())
  afterEach(() => api.close())

  const memberships = (groups: object = {}, claims: Record<string, unknown> = verified(ALICE), customer?: string) =>
    googlePreset(`${api.url}//`, vendorAccess()).memberships({ claims, accessToken: TOKEN }, settings(groups, customer))

  it("requests Google's or the configured groups scope only if groups are configured", () => {
    const { scopes } = openPreset('google', {}, vendorAccess())
    expect(scopes(settings())).to.deep.equal([SCOPE])
    expect(scopes(settings({ scope: 'https://www.googleapis.com/auth/cloud-identity.groups' }))).to.deep.equal([
      'https://www.googleapis.com/auth/cloud-identity.groups',
    ])
    const without = settingsOf({ client: CLIENT, custom: { preset: 'google' } })
    expect(scopes(without)).to.deep.equal([])
  })

  it('requests groups from cloudidentity.googleapis.com by default', async () => {
    const urls: string[] = []
    const fetch = async (url: string) => {
      urls.push(url)
      return Response.json({})
    }
    const preset = openPreset('google', {}, { ...vendorAccess(), fetch })
    await preset.memberships({ claims: verified(ALICE), accessToken: TOKEN }, settings())
    expect(urls.map((url) => new URL(url).origin)).to.deep.equal(['https://cloudidentity.googleapis.com'])
  })

  it('reads groups from no claim, even if groups.claim is configured', async () => {
    const { groupsClaim, claims } = openPreset('google', {}, vendorAccess())
    expect(groupsClaim(settings({ claim: 'groups' }))).to.equal(null)
    expect(claims(verified(ALICE))).to.deep.equal(verified(ALICE))
    api.setGroups(ALICE, { direct: [group('ops')] })
    expect(names(await memberships({ claim: 'groups' }, { ...verified(ALICE), groups: ['admins'] }))).to.deep.equal([
      'The ops',
    ])
  })

  // Shows: plugin 6.13.
  it('a user who declined the groups scope has no groups; the Google API is not called', async () => {
    api.setGroups(ALICE, { direct: [group('ops')] })
    const membershipsWith = (grantedScopes: readonly string[] | null, custom: object = {}, groups: object = {}) => {
      const members = { preset: 'google', customer_id: 'C046psxkn', ...custom }
      const evidence = { claims: verified(ALICE), accessToken: TOKEN, grantedScopes }
      const preset = googlePreset(api.url, vendorAccess())
      return preset.memberships(evidence, settingsOf({ client: CLIENT, custom: members, groups }))
    }
    const countBefore = api.requests.length
    expect(await membershipsWith(['openid', 'email'])).to.deep.equal([])
    // The scope may also be part of custom.scope.
    expect(await membershipsWith(['openid'], { scope: ['openid', SCOPE] }, { scope: '' })).to.deep.equal([])
    expect(api.requests.length).to.equal(countBefore)
    for (const granted of [null, ['openid', SCOPE]]) expect(await membershipsWith(granted)).to.have.length(1)
    // A user declines nothing if no scope or only one of two is missing.
    expect(await membershipsWith(['openid'], {}, { scope: '' })).to.have.length(1)
    const two = { scope: ['openid', 'https://www.googleapis.com/auth/cloud-platform'] }
    expect(await membershipsWith(['openid', SCOPE], two)).to.have.length(1)
  })

  // Shows: plugin 5.20.
  it('matches a group by resource name, address or display name, exactly as spelled', async () => {
    api.setGroups(ALICE, { direct: [group('ops')] })
    const rule = async (required: string) => decideAccess(await memberships(), settings({ required }).groups).admitted
    for (const name of ['groups/0ops', 'ops@corp.example', 'The ops']) expect(await rule(name), name).to.equal(true)
    for (const name of ['0ops', 'ops', 'the ops', 'The ops ', 'groups/0OPS']) expect(await rule(name)).to.equal(false)
  })

  // Shows: plugin 5.20.
  it('requests from Google only the groups of the signed-in user', async () => {
    api.setGroups(ALICE, { direct: [group('ops')] })
    api.setGroups('bob@corp.example', { direct: [group('admins'), group('ops')] })
    expect(names(await memberships())).to.deep.equal(['The ops'])
    expect(names(await memberships({}, verified('carol@corp.example')))).to.deep.equal([])
    expect(api.requests.map(({ path }) => path)).to.deep.equal(
      Array(2).fill('/v1/groups/-/memberships:searchDirectGroups'),
    )
  })

  it('ignores groups of another company, even if they have the same name', async () => {
    const foreign = group('fake', { customer: 'C999', displayName: 'The ops' })
    api.setGroups(ALICE, { direct: [group('radio'), foreign] })
    expect(names(await memberships())).to.deep.equal(['The radio'])
    expect(names(await memberships({}, verified(ALICE), 'C999'))).to.deep.equal(['The ops'])
  })

  // Shows: plugin 6.1.
  it('requests indirect memberships from Google only if groups.recursive is true', async () => {
    api.setGroups(ALICE, { direct: [group('ops')], indirect: [group('staff')] })
    expect(names(await memberships())).to.deep.equal(['The ops'])
    expect(names(await memberships({ recursive: true }))).to.deep.equal(['The ops', 'The staff'])
  })

  it('groups are unknown if the Google plan does not allow groups.recursive: true', async () => {
    await start({ premium: false })
    api.setGroups(ALICE, { direct: [group('ops')] })
    expect(names(await memberships())).to.deep.equal(['The ops'])
    expect(await reasonOf(memberships({ recursive: true }))).to.match(/ with 403$/)
  })

  it('if only administrators may search the company, groups are known by address only', async () => {
    await start({ administrators: ['root@corp.example'] })
    const foreign = group('fake', { customer: 'C999', address: 'mine@evil.example', displayName: 'The ops' })
    api.setGroups(ALICE, { direct: [group('ops'), foreign] })
    expect(await memberships()).to.deep.equal([
      { name: 'ops@corp.example', aliases: [] },
      { name: 'mine@evil.example', aliases: [] },
    ])
    const rule = async (required: string) => decideAccess(await memberships(), settings({ required }).groups).admitted
    expect(await rule('ops@corp.example')).to.equal(true)
    for (const name of ['The ops', 'The fake', 'groups/0ops']) expect(await rule(name), name).to.equal(false)
    const queries = api.requests.slice(0, 2).map(({ query }) => parseMembershipQuery(query.query ?? ''))
    expect(queries.map(({ member, parent }) => [member, parent])).to.deep.equal([
      [ALICE, 'customers/C046psxkn'],
      [ALICE, null],
    ])
  })

  it("a Google administrator's groups inside the company are read in one request", async () => {
    await start({ administrators: [ALICE] })
    api.setGroups(ALICE, { direct: [group('ops'), group('fake', { customer: 'C999' })] })
    expect(names(await memberships())).to.deep.equal(['The ops'])
    expect(api.requests).to.have.length(1)
  })

  // Shows: plugin 5.16.
  it('requests only groups of the configured Google identity source', async () => {
    const identitysource = 'a1b2-c3'
    const ofSource = settingsOf({
      client: CLIENT,
      custom: { preset: 'google', identitysource },
      groups: { required: 'Mapped staff' },
    })
    const askSource = () =>
      googlePreset(api.url, vendorAccess()).memberships({ claims: verified(ALICE), accessToken: TOKEN }, ofSource)
    const mapped = (name: string, source: string) =>
      group(name, { address: name, displayName: `Mapped ${name}`, identitySource: source })
    api.setGroups(ALICE, { direct: [group('ops'), mapped('staff', identitysource), mapped('crew', 'other')] })
    expect(names(await askSource())).to.deep.equal(['Mapped staff'])
    expect(decideAccess(await askSource(), ofSource.groups).admitted).to.equal(true)
    expect(names(await memberships())).to.deep.equal(['The ops'])

    await start({ administrators: ['root@corp.example'] })
    api.setGroups(ALICE, { direct: [mapped('staff', 'other')] })
    expect(await reasonOf(askSource())).to.match(/ with 403$/)
    expect(api.requests).to.have.length(1)
  })

  it('ignores group names that are no addresses if groups are known only by address', async () => {
    const groupKey = (id: string, namespace?: string) => ({ group: 'groups/0', groupKey: { id, namespace } })
    const entries = [
      groupKey('ops@corp.example', 'identitysources/1'),
      groupKey('ops'),
      groupKey('old ops@corp.example'),
      groupKey('ops@corp.example (old)'),
      { group: 'groups/0c', displayName: 'ops@corp.example' },
    ]
    await start({ administrators: ['root@corp.example'] })
    api.fail({ kind: 'rewrite', body: () => ({ memberships: entries }) })
    expect(await memberships()).to.deep.equal([])
    expect(api.requests).to.have.length(2)
  })

  it('groups of a user with an unverified address are unknown, and are not requested', async () => {
    api.setGroups(ALICE, { direct: [group('ops')] })
    for (const claims of [
      {},
      { email: ALICE },
      { email: ALICE, email_verified: false },
      { email: ALICE, email_verified: 'false' },
      { email: '', email_verified: true },
      { email: [ALICE], email_verified: true },
      { email_verified: true, preferred_username: ALICE },
    ]) {
      expect(await reasonOf(memberships({}, claims))).to.equal('the account has no verified e-mail address')
    }
    expect(api.requests).to.deep.equal([])
  })

  it('an address is verified if email_verified is the string "true"', async () => {
    api.setGroups(ALICE, { direct: [group('ops')] })
    expect(names(await memberships({}, { email: ALICE, email_verified: 'true' }))).to.deep.equal(['The ops'])
  })

  it("escapes quotes and backslashes of the user's address in a Google group search", async () => {
    const hostile = "x' || member_key_id == 'bob@corp.example"
    api.setGroups('bob@corp.example', { direct: [group('admins')] })
    const otherAddresses = ["o'hara@corp.example", 'back\\slash@corp.example', "\\' && '@corp.example", '"q"@b']
    for (const address of [hostile, ...otherAddresses]) {
      api.setGroups(address, { direct: [group('ops')] })
      expect(names(await memberships({}, verified(address))), address).to.deep.equal(['The ops'])
    }
  })

  it("groups are unknown if Google cannot search for a character of the user's address", async () => {
    for (const address of ['ali\nce@corp.example', 'alice\u0000@corp.example', 'alice\ud800@corp.example']) {
      expect(await reasonOf(memberships({}, verified(address)))).to.match(/characters that a search cannot contain/)
    }
    expect(api.requests).to.deep.equal([])
  })

  it("searches Google for groups of exactly the user's address, inside the company", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, unit: 'grapheme' }), async (address) => {
        await memberships({}, verified(address)).catch(() => undefined)
        for (const { query } of api.requests.slice(-1)) {
          expect(parseMembershipQuery(query.query ?? '')).to.deep.equal({
            member: address,
            labels: ['cloudidentity.googleapis.com/groups.discussion_forum'],
            parent: 'customers/C046psxkn',
          })
        }
      }),
      { numRuns: 60 },
    )
  })

  it("ignores a display name that is another group's address or resource name", async () => {
    for (const displayName of ['admins@corp.example', 'groups/0admins']) {
      api.setGroups(ALICE, { direct: [group('mine', { displayName })] })
      const groups = await memberships()
      expect(decideAccess(groups, settings({ required: displayName }).groups).admitted).to.equal(false)
      expect(names(groups)).to.deep.equal(['mine@corp.example'])
    }
    for (const displayName of ['Team @ home', 'Our groups/ops', 'old a@b.example', 'a@b.example (old)']) {
      api.setGroups(ALICE, { direct: [group('mine', { displayName })] })
      expect(names(await memberships())).to.deep.equal([displayName])
    }
  })

  it('reads a full page of groups with long descriptions within the size limit', async () => {
    const many = Array.from({ length: 501 }, (_, index) => group(`g${index}`, { description: 'x'.repeat(1000) }))
    api.setGroups(ALICE, { direct: many })
    expect(names(await memberships())).to.have.length(501)
    expect(api.requests).to.have.length(2)
  })

  it("groups are unknown if Google's list is incomplete", async () => {
    api.setGroups(ALICE, { direct: [group('ops')] })
    for (const wrong of [
      ...[7, null].map((nextPageToken) => ({ nextPageToken })),
      ...[{}, null, [{ displayName: 'The ops' }], ['groups/0ops'], [null]].map((memberships) => ({ memberships })),
      { error: { code: 403 }, memberships: undefined },
    ]) {
      api.fail({ kind: 'rewrite', body: (page) => ({ ...(page as object), ...wrong }) })
      expect(await reasonOf(memberships()), JSON.stringify(wrong)).to.equal(
        '127.0.0.1 did not answer with a list of groups',
      )
    }
    await start({ administrators: ['root@corp.example'] })
    api.fail({ kind: 'rewrite', body: () => ({ memberships: [{ groupKey: { id: 'ops@corp.example' } }] }) })
    expect(await reasonOf(memberships())).to.equal('127.0.0.1 did not answer with a list of groups')
  })

  it("reads Google's list of groups even if it has other members", async () => {
    api.setGroups(ALICE, { direct: [group('ops')] })
    api.fail({ kind: 'rewrite', body: (page) => ({ ...(page as object), totalSize: 1 }) })
    expect(names(await memberships())).to.deep.equal(['The ops'])
  })

  it('a group without address and display name has its resource name as name', async () => {
    api.fail({ kind: 'rewrite', body: () => ({ memberships: [{ group: 'groups/0x' }] }) })
    expect(await memberships()).to.deep.equal([{ name: 'groups/0x', aliases: [] }])
  })

  it('continues after an empty page of groups if it names a next page', async () => {
    await start({ mostPerPage: 1 })
    api.setGroups(ALICE, { direct: [group('a'), group('b')] })
    const emptied = new Set<string>()
    api.fail({
      kind: 'rewrite',
      body: (page) => {
        const { nextPageToken } = page as { nextPageToken?: string }
        if (nextPageToken === undefined || emptied.has(nextPageToken)) return page
        emptied.add(nextPageToken)
        return { nextPageToken }
      },
    })
    expect(names(await memberships())).to.deep.equal(['The b'])
  })

  describe('failures of the Google groups API', () => {
    beforeEach(() => start({ mostPerPage: 1 }))
    failuresContract(() => ({
      api,
      memberships: (access, accessToken = TOKEN) =>
        googlePreset(api.url, access).memberships({ claims: verified(ALICE), accessToken }, settings()),
      asksAgainAfter: (status, pageIndex) => status === 403 && pageIndex === 0,
      fillPages: (pages) =>
        api.setGroups(ALICE, { direct: Array.from({ length: pages }, (_, index) => group(`g${index}`)) }),
    }))
  })
})
