import { expect } from 'chai'
import type { Idp } from '../../../fixtures/idp/server.ts'
import { type GoogleGroup, startGoogleGroups } from '../../../fixtures/idp/vendors/google-groups.ts'
import type { VendorApi } from '../../../fixtures/idp/vendors/vendor-api.ts'
import { callerAt } from '../../support/introspecting-api.ts'
import { CLIENT as ANY_CLIENT, type Setup, setups } from '../../support/sign-in-setup.ts'

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
  beforeEach(async () => {
    api = await startGoogleGroups({
      authenticate: async (token) => (idp ? callerAt(idp, CLIENT, token) : undefined),
      mostPerPage: 1,
    })
  })
  afterEach(async () => {
    await api.close()
  })

  async function startGoogle(oidc: Record<string, unknown> = {}): Promise<Setup> {
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
    })
  }
  const scopes = async ({ asked }: Setup) => (await asked()).searchParams.get('scope')

  it('needs no issuer, names the vendor on the button, and comes back by auth-oidc-google-callback', async () => {
    const setup = await startGoogle()
    const login = await setup.browser().get(`${setup.host.url}login`)
    expect(login.links.map(({ text }) => text)).to.deep.equal(['Sign in with Google'])
    const { page, who } = await setup.signIn()
    expect(who).to.include({ status: 200, id: '~oidc:u-1001', email: ALICE })
    expect(page.trail.join()).to.include(`${setup.host.url}auth-oidc-google-callback?`)
    expect(await scopes(setup)).to.equal('openid profile email')
    expect(api.requests).to.deep.equal([])
  })

  const groups = { required: 'ops@corp.example', siteadmin: 'groups/0ops', sync: true }

  it('takes groups from the workspace of the customer: rules match names, addresses and ids, all pages are read', async () => {
    const setup = await startGoogle({ groups })
    api.setGroups(ALICE, { direct: [group('radio'), group('ops'), group('fake', 'C999')] })
    expect(await scopes(setup)).to.equal(`openid profile email ${SCOPE}`)
    const { who } = await setup.signIn()
    expect(who).to.deep.include({ status: 200, siteAdmin: true, userGroups: ['The ops', 'The radio'] })
    expect(api.requests.map(({ user }) => user)).to.deep.equal(['u-1001', 'u-1001'])
  })
})
