import { expect } from 'chai'
import type { Idp } from '../../../fixtures/idp/server.ts'
import type { IdpUser } from '../../../fixtures/idp/users.ts'
import { type GraphGroup, startMicrosoftGraph } from '../../../fixtures/idp/vendors/microsoft-graph.ts'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import { callerAt } from '../../support/introspecting-api.ts'
import { CLIENT, type Setup, type SetupOptions, setups, whoAmI } from '../../support/sign-in-setup.ts'

const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const SCOPES = { 'Group.Read.All': [], 'GroupMember.Read.All': [], directory: ['roles', 'hasgroups', '_claim_names'] }
const OPS: GraphGroup = { id: '00000001-aaaa-4bbb-8ccc-000000000001', displayName: 'Ops' }
const STAFF: GraphGroup = { id: '00000002-aaaa-4bbb-8ccc-000000000002', displayName: 'Staff' }
/** As the vendor tells of people: no `email`, but what they sign in with. */
const dora = (claims: Record<string, unknown> = {}): IdpUser => ({
  username: 'dora',
  password: 'dora-demo',
  sub: 'pairwise-dora',
  claims: { name: 'Dora Directory', preferred_username: 'dora@corp.example', ...claims },
})

describe('a login with the preset azure', () => {
  const { start, closeAll } = setups()
  let api: VendorApi<GraphGroup>
  let idp: Idp | undefined
  beforeEach(async () => {
    api = await startMicrosoftGraph({
      authenticate: async (token) => (idp ? callerAt(idp, CLIENT, token) : undefined),
      mostPerPage: 1,
    })
  })
  afterEach(async () => {
    await closeAll()
    await api.close()
  })

  async function startAzure(oidc: Record<string, unknown> = {}, more: SetupOptions = {}): Promise<Setup> {
    const setup = await start({
      exactly: ({ hostUrl }) => ({
        newAccounts: true,
        custom: { preset: 'azure', tenant_id: TENANT },
        client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-azure-callback` },
        ...oidc,
      }),
      idp: { path: `/${TENANT}/v2.0`, scopes: SCOPES, users: [dora()] },
      presets: (made) => {
        idp = made
        return { azure: { login: new URL(made.issuer).origin, graph: api.url } }
      },
      ...more,
    })
    await setup.idp.addClient({ ...CLIENT, redirect_uris: [`${setup.host.url}auth-oidc-azure-callback`] })
    return setup
  }
  const signIn = async ({ host, browser }: Setup) => {
    const person = browser()
    const page = await person.login(host.url, 'dora', 'dora-demo')
    return { person, page, who: await whoAmI(person, host.url) }
  }

  it('needs nothing but the tenant: issuer, scope and identity are those of the vendor', async () => {
    const setup = await startAzure()
    expect(setup.idp.issuer).to.match(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/${TENANT}/v2\\.0$`))
    const asked = new URL((await setup.browser().step(`${setup.host.url}auth-oidc`)).headers.location ?? '')
    expect(asked.href.startsWith(`${setup.idp.issuer}/auth?`)).to.equal(true)
    expect(asked.searchParams.get('scope')).to.equal('openid profile email offline_access')
    const { page, who } = await signIn(setup)
    expect(page.url).to.equal(setup.host.url)
    expect(who).to.include({ id: '~oidc:pairwise-dora', name: 'Dora Directory', email: 'dora@corp.example' })
    expect(api.requests).to.deep.equal([])
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  it('comes back by auth-oidc-azure-callback, at a host that is registered with another path too', async () => {
    const setup = await startAzure()
    const { page } = await signIn(setup)
    expect(page.trail.some((address) => address.startsWith(`${setup.host.url}auth-oidc-azure-callback?`))).to.equal(
      true,
    )
    const elsewhere = await start()
    const answer = await elsewhere.browser().step(`${elsewhere.host.url}auth-oidc-azure-callback?state=x&code=y`)
    expect([answer.status, answer.headers.location]).to.deep.equal([302, '/login?failure=login_expired'])
  })

  it('names the vendor on the button', async () => {
    const setup = await startAzure()
    const page = await setup.browser().get(`${setup.host.url}login`)
    expect(page.links.map(({ text }) => text)).to.deep.equal(['Sign in with Microsoft'])
  })

  it('ignores a configured issuer and says so in the authentication log', async () => {
    for (const issuer of ['https://never.asked.invalid', { issuer: 'https://never.asked.invalid' }]) {
      const setup = await startAzure({ issuer })
      expect((await signIn(setup)).who.status).to.equal(200)
      const warnings = setup.authLog.filter(({ level }) => level === 'warn')
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.include({ event: 'configuration-warning' })
      expect(warnings[0]?.message).to.match(/issuer is ignored with a preset/)
    }
  })

  it('keeps endpoints that were set by hand, and scope and claims', async () => {
    const setup = await startAzure({
      issuer: { end_session_endpoint: 'https://idp.example/bye' },
      custom: {
        preset: 'azure',
        tenant_id: TENANT,
        scope: 'openid directory',
        claims: { uuid: 'roles', name: 'preferred_username' },
      },
    })
    setup.idp.setUser(dora({ roles: 'the-uuid' }))
    const { person, who } = await signIn(setup)
    expect(who.id).to.equal('~oidc:the-uuid')
    expect((await person.step(`${setup.host.url}logout`)).headers.location).to.match(/^https:\/\/idp\.example\/bye\?/)
  })

  it('refuses every login without a tenant, or with one that is not a single directory', async () => {
    for (const tenant of [{}, { tenant_id: 'common' }]) {
      const setup = await startAzure({ custom: { preset: 'azure', ...tenant } })
      const page = await setup.browser().get(`${setup.host.url}auth-oidc`)
      expect(page.url).to.match(/failure=not_configured$/)
      expect(setup.authLog[0]?.message).to.include('custom.tenant_id')
    }
  })

  describe('and groups', () => {
    const groups = { required: ['Ops'], siteadmin: OPS.id, sync: true }

    it('takes them from the directory: rules match names and ids, all pages are read', async () => {
      const setup = await startAzure({ groups })
      api.setGroups('pairwise-dora', { direct: [STAFF, OPS] })
      const { who } = await signIn(setup)
      expect(who).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['Ops', 'Staff'] })
      expect(api.requests.map(({ path, user }) => [path, user])).to.deep.equal(
        Array(2).fill(['/v1.0/me/memberOf/microsoft.graph.group', 'pairwise-dora']),
      )
    })

    it('does not know them when the API fails: required refuses, nothing else changes', async () => {
      const open = await startAzure({ groups: { siteadmin: 'Ops', sync: true } })
      api.setGroups('pairwise-dora', { direct: [OPS] })
      await signIn(open)
      api.fail(503, 1)
      api.setGroups('pairwise-dora', { direct: [OPS, STAFF] })
      expect((await signIn(open)).who).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['Ops'] })
      expect(open.authLog.at(-2)).to.include({ event: 'memberships-unknown' })
      expect(open.authLog.at(-2)?.fields.reason).to.include('503')
      const closed = await startAzure({ groups })
      expect((await signIn(closed)).who.status).to.equal(401)
      expect(closed.authLog.at(-1)?.fields).to.include({ code: 'memberships_unknown' })
    })

    it('takes them from a configured claim instead, and asks neither for the scope nor the API', async () => {
      const setup = await startAzure({
        custom: { preset: 'azure', tenant_id: TENANT, scope: 'openid profile directory' },
        groups: { claim: 'roles', required: 'Mesh.User', sync: true },
      })
      setup.idp.setUser(dora({ roles: ['Mesh.User'] }))
      const location = (await setup.browser().step(`${setup.host.url}auth-oidc`)).headers.location ?? ''
      expect(new URL(location).searchParams.get('scope')).to.equal('openid profile directory offline_access')
      expect((await signIn(setup)).who.userGroups).to.deep.equal(['Mesh.User'])
      expect(api.requests).to.deep.equal([])
    })
  })
})
