import { expect } from 'chai'
import { AZURE_AD_B2C, B2C_CLIENT, B2C_WITHOUT_ACCESS_TOKENS } from '../../../fixtures/idp/documented/azure-ad-b2c.ts'
import { type DocumentedOptions, documentedSetups, SERVER } from '../../support/documented-setup.ts'
import { itFollowsItsPage, withGroups } from './page.contract.ts'

const PAGE = 'azure-ad-b2c.md'
type Change = NonNullable<DocumentedOptions['oidc']>
const withCustom =
  (change: Readonly<Record<string, unknown>>): Change =>
  ({ custom, ...oidc }) => ({ ...oidc, custom: { ...(custom as object), ...change } })

describe('Azure AD B2C simulated from its documentation', () => {
  itFollowsItsPage({
    page: PAGE,
    provider: AZURE_AD_B2C,
    knownAs: 'Azure AD B2C',
    mistakes: [
      {
        title: 'the issuer without a user flow',
        oidc: (oidc) => ({ ...oidc, issuer: 'https://contoso.b2clogin.com/contoso.onmicrosoft.com/v2.0' }),
        line: /^fail: .*<user flow>\/v2\.0`/,
      },
      {
        title: 'the scope email',
        oidc: withCustom({ scope: `openid email ${B2C_CLIENT}` }),
        line: /^fail: .*scope email \(AADB2C90012\)/,
      },
      { title: 'the claim email', oidc: withCustom({ claims: {} }), line: /^warn: .*"emails\.0"/ },
      { title: 'the claim groups', oidc: withGroups({ claim: 'groups' }), line: /^warn: .*"extension_<attribute>"/ },
      {
        title: 'no client id among the scopes',
        oidc: withCustom({ scope: 'openid offline_access' }),
        line: /^warn: .*no access token/,
      },
    ],
  })

  const start = documentedSetups(PAGE, AZURE_AD_B2C)

  // Shows: plugin 2.8.
  it('--live accepts the issuer that Azure AD B2C publishes for a user flow', async () => {
    const { lines } = await (await start()).checkLive()
    expect(lines[0]).to.match(/^ok: discovery: .*\/v2\.0\/, which Microsoft publishes for this address$/)
  })

  it('a login with the scope email fails, because Azure AD B2C rejects this scope', async () => {
    const { signIn } = await start({ oidc: withCustom({ scope: `openid email ${B2C_CLIENT}` }) })
    expect((await signIn('alice')).failure).to.include({ code: 'scope_refused' })
  })

  describe('Azure AD B2C without the client id among the requested scopes', () => {
    const startWithout = documentedSetups(PAGE, B2C_WITHOUT_ACCESS_TOKENS)

    it('a user signs in at Azure AD B2C without an access token', async () => {
      const { signIn } = await startWithout({ oidc: withCustom({ scope: 'openid' }) })
      expect((await signIn('alice')).me).to.include({ status: 200, siteAdmin: true })
    })
  })

  describe('Azure AD B2C with an issuer that contains the user flow', () => {
    const issuer = 'https://contoso.b2clogin.com/tfp/11111111-1111-1111-1111-111111111111/b2c_1_mesh/v2.0/'
    const { discoveryAddress: _address, ...provider } = AZURE_AD_B2C
    const startTfp = documentedSetups(PAGE, { ...provider, discovery: { ...AZURE_AD_B2C.discovery, issuer } })

    it('a user signs in at Azure AD B2C if the issuer contains the user flow', async () => {
      const { signIn, checkLive } = await startTfp({ oidc: (oidc) => ({ ...oidc, issuer }) })
      expect((await signIn('alice')).landing.url).to.equal(SERVER)
      const { lines } = await checkLive((oidc) => ({ ...oidc, issuer }))
      expect(lines).to.include('ok: provider: Azure AD B2C, without any of its usual mistakes')
    })
  })
})
