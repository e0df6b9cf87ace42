import { expect } from 'chai'
import type { Idp } from '../../../fixtures/idp/server.ts'
import {
  type GoogleGroup,
  type GoogleGroupsOptions,
  startGoogleGroups,
} from '../../../fixtures/idp/vendors/google-groups.ts'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import { callerAt } from '../../support/introspecting-api.ts'
import { CLIENT as ANY_CLIENT, type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'

const CLIENT = { ...ANY_CLIENT, client_id: '12345-abc.apps.googleusercontent.com' }
const CUSTOMER = 'C046psxkn'
const SCOPE = 'https://www.googleapis.com/auth/cloud-identity.groups.readonly'
const group = (name: string, customer = CUSTOMER): GoogleGroup => ({
  group: `groups/0${name}`,
  address: `${name}@corp.example`,
  displayName: `The ${name}`,
  customer,
})
const ALICE = 'alice@example.test'

describe('a login with the preset google', () => {
  const start = setups()
  let api: VendorApi<GoogleGroup>
  let idp: Idp | undefined
  const startApi = async (options: Partial<GoogleGroupsOptions> = {}) => {
    await api?.close()
    api = await startGoogleGroups({
      authenticate: async (token) => (idp ? callerAt(idp, CLIENT, token) : undefined),
      mostPerPage: 1,
      ...options,
    })
  }
  beforeEach(() => startApi())
  afterEach(async () => {
    await api.close()
  })

  async function startGoogle(oidc: Record<string, unknown> = {}, more: SetupOptions = {}): Promise<Setup> {
    return start({
      exactly: ({ hostUrl }) => ({
        newAccounts: true,
        custom: { preset: 'google', customer_id: CUSTOMER },
        client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-google-callback` },
        ...oidc,
      }),
      registered: CLIENT,
      idp: { scopes: { [SCOPE]: [] } },
      presets: (made) => {
        idp = made
        return { google: { issuer: made.issuer, cloudIdentity: api.url } }
      },
      ...more,
    })
  }
  const scopes = async ({ asked }: Setup) => (await asked()).searchParams.get('scope')

  it('needs no issuer, names the vendor on the button, and comes back by auth-oidc-google-callback', async () => {
    const setup = await startGoogle()
    const login = await setup.browser().get(`${setup.host.url}login`)
    expect(login.links.map(({ text }) => text)).to.deep.equal(['Sign in with Google'])
    const { page, who } = await setup.signIn()
    expect(who).to.include({ status: 200, id: '~oidc:u-1001', email: ALICE })
    expect(page.trail.some((address) => address.startsWith(`${setup.host.url}auth-oidc-google-callback?`))).to.equal(
      true,
    )
    expect(await scopes(setup)).to.equal('openid profile email')
    expect(api.requests).to.deep.equal([])
  })

  it('applies by itself where the client id is one of the vendor', async () => {
    const setup = await startGoogle({ custom: {} })
    expect((await setup.signIn()).who).to.include({ status: 200, id: '~oidc:u-1001' })
    const login = await setup.browser().get(`${setup.host.url}login`)
    expect(login.links[0]?.text).to.equal('Sign in with Google')
  })

  it('is off with null: the configured issuer is used, and no warning is written', async () => {
    const other = await start()
    const setup = await startGoogle({ issuer: other.idp.issuer, custom: { preset: null } })
    await other.idp.addClient({ ...CLIENT, redirect_uris: [`${setup.host.url}auth-oidc-google-callback`] })
    const { page, who } = await setup.signIn()
    expect(who.status).to.equal(200)
    expect(page.trail.some((address) => address.startsWith(other.idp.issuer))).to.equal(true)
    expect(setup.idp.requests('authorization')).to.equal(0)
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  it('ignores a configured issuer and says so, applied by itself too', async () => {
    const setup = await startGoogle({ issuer: 'https://never.asked.invalid', custom: {} })
    expect((await setup.signIn()).who.status).to.equal(200)
    expect(setup.authLog[0]).to.include({ event: 'configuration-warning', level: 'warn' })
    expect(setup.authLog[0]?.message).to.match(/issuer is ignored with a preset/)
  })

  describe('and groups', () => {
    const groups = { required: 'ops@corp.example', siteadmin: 'groups/0ops', sync: true }

    it('takes them from the workspace of the customer: rules match names, addresses and ids, all pages are read', async () => {
      const setup = await startGoogle({ groups })
      api.setGroups(ALICE, { direct: [group('radio'), group('ops'), group('fake', 'C999')] })
      expect(await scopes(setup)).to.equal(`openid profile email ${SCOPE}`)
      const { who } = await setup.signIn()
      expect(who).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['The ops', 'The radio'] })
      expect(api.requests.map(({ user }) => user)).to.deep.equal(['u-1001', 'u-1001'])
    })

    it('does not know them when the API fails: required refuses, nothing else changes', async () => {
      const open = await startGoogle({ groups: { siteadmin: 'The ops', sync: true } })
      api.setGroups(ALICE, { direct: [group('ops')] })
      await open.signIn()
      api.fail(500)
      expect((await open.signIn()).who).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['The ops'] })
      const closed = await startGoogle({ groups })
      expect((await closed.signIn()).who.status).to.equal(401)
      expect(closed.authLog.map(({ event }) => event)).to.deep.equal(['memberships-unknown', 'login-failed'])
    })

    it('refuses every login without a customer id', async () => {
      const setup = await startGoogle({ groups, custom: { preset: 'google' } })
      expect((await setup.asked()).search).to.equal('?failure=not_configured')
      expect(setup.authLog[0]?.message).to.include('custom.customer_id')
    })
  })
})
