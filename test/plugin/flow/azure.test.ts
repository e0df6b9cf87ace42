import { expect } from 'chai'
import type { Idp } from '../../../fixtures/idp/server.ts'
import type { IdpUser } from '../../../fixtures/idp/users.ts'
import { type GraphGroup, startMicrosoftGraph } from '../../../fixtures/idp/vendors/microsoft-graph.ts'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import { callerAt } from '../../support/introspecting-api.ts'
import { CLIENT, type Setup, setups } from '../../support/sign-in-setup.ts'

const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const SCOPES = { 'Group.Read.All': [] }
const OPS: GraphGroup = { id: '00000001-aaaa-4bbb-8ccc-000000000001', displayName: 'Ops' }
const STAFF: GraphGroup = { id: '00000002-aaaa-4bbb-8ccc-000000000002', displayName: 'Staff' }
/** A user as the vendor describes one: with a sign-in name, but without `email`. */
const DORA: IdpUser = {
  username: 'dora',
  password: 'dora-demo',
  sub: 'pairwise-dora',
  claims: { name: 'Dora Directory', preferred_username: 'dora@corp.example' },
}

describe('login with the preset azure', () => {
  const start = setups()
  let api: VendorApi<GraphGroup>
  let idp: Idp | undefined
  beforeEach(async () => {
    api = await startMicrosoftGraph({
      authenticate: async (token) => (idp ? callerAt(idp, CLIENT, token) : undefined),
      mostPerPage: 1,
    })
  })
  afterEach(async () => {
    await api.close()
  })

  async function startAzure(oidc: Record<string, unknown> = {}): Promise<Setup> {
    return start({
      exactly: ({ hostUrl }) => ({
        newAccounts: true,
        custom: { preset: 'azure', tenant_id: TENANT },
        client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-azure-callback` },
        ...oidc,
      }),
      idp: { path: `/${TENANT}/v2.0`, scopes: SCOPES, users: [DORA] },
      presets: (startedIdp) => {
        idp = startedIdp
        return { azure: { login: new URL(startedIdp.issuer).origin, graph: api.url } }
      },
    })
  }

  // Shows: plugin 5.12, 5.19, 8.3.
  it('the preset azure needs only a tenant, and has its own button and callback path', async () => {
    const setup = await startAzure()
    expect(setup.idp.issuer).to.match(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/${TENANT}/v2\\.0$`))
    const authorization = await setup.redirectFrom()
    expect(authorization.href.startsWith(`${setup.idp.issuer}/auth?`)).to.equal(true)
    expect(authorization.searchParams.get('scope')).to.equal('openid profile email offline_access')
    const login = await setup.browser().get(`${setup.host.url}login`)
    expect(login.links.map(({ text }) => text)).to.deep.equal(['Sign in with Microsoft'])
    const { page, me } = await setup.signIn('dora')
    expect(page.url).to.equal(setup.host.url)
    expect(page.trail.join()).to.include(`${setup.host.url}auth-oidc-azure-callback?`)
    expect(me).to.include({ id: '~oidc:pairwise-dora', name: 'Dora Directory', email: 'dora@corp.example' })
    expect(api.requests).to.deep.equal([])
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  // Shows: plugin 5.20.
  it('the preset azure reads groups from all pages of Microsoft Graph, by name and id', async () => {
    const setup = await startAzure({ groups: { required: ['Ops'], siteadmin: OPS.id, sync: true } })
    api.setGroups('pairwise-dora', { direct: [STAFF, OPS] })
    const { me } = await setup.signIn('dora')
    expect(me).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['Ops', 'Staff'] })
    expect(api.requests.map(({ path, user }) => [path, user])).to.deep.equal(
      Array(2).fill(['/v1.0/me/memberOf/microsoft.graph.group', 'pairwise-dora']),
    )
  })

  // Shows: plugin 8.12.
  it('a user keeps rights and groups if Microsoft Graph fails; the failure is logged', async () => {
    const setup = await startAzure({ groups: { siteadmin: 'Ops', sync: true } })
    api.setGroups('pairwise-dora', { direct: [OPS] })
    await setup.signIn('dora')
    api.fail(503, 1)
    api.setGroups('pairwise-dora', { direct: [OPS, STAFF] })
    expect((await setup.signIn('dora')).me).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['Ops'] })
    expect(setup.lines('memberships-unknown')[0]?.fields.reason).to.include('503')
  })
})
