import { expect } from 'chai'
import fc from 'fast-check'
import type { Metadata } from '../../../plugin/doctor/live/providers/known-provider.ts'
import { judgeProvider } from '../../../plugin/doctor/live/providers/known-providers.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { settingsOf } from '../config/single-domain.ts'

const ISSUERS = [
  'https://fs.example.org/adfs',
  'https://example.eu.auth0.com/',
  'https://contoso.b2clogin.com/contoso.onmicrosoft.com/b2c_1_mesh/v2.0',
  'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example01',
  'https://contoso.ciamlogin.com/11111111-1111-1111-1111-111111111111/v2.0',
  'https://oauth.id.jumpcloud.com/',
  'https://idm.example.org/oauth2/openid/mesh',
  'https://example.onelogin.com/oidc/2',
  'https://sso.example.org/webman/sso',
  'https://idp.example.org',
]
const client = { client_id: 'mesh', client_secret: 'of the tests' }
const MEMBERS = [
  'authorization_endpoint',
  'end_session_endpoint',
  'scopes_supported',
  'id_token_signing_alg_values_supported',
  'mfa_challenge_endpoint',
  'userinfo_endpoint',
]

describe('identity providers that the live check recognizes', () => {
  // Shows: plugin 9.49.
  it("advice about an IdP contains no control characters from the IdP's metadata", () => {
    const settings = ISSUERS.map((issuer) => settingsOf({ issuer, client, groups: { required: 'mesh-users' } }))
    const metadata = fc.dictionary(fc.constantFrom(...MEMBERS), fc.oneof(fc.jsonValue(), fc.webUrl(), fc.string()))
    fc.assert(
      fc.property(fc.constantFrom(...settings), fc.option(metadata, { nil: undefined }), (chosen, published) => {
        const issuer = new URL(chosen.issuer.issuer)
        const verdicts = judgeProvider({ issuer, metadata: published as unknown as Metadata, settings: chosen })
        for (const { text } of verdicts) expect(text).not.to.match(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it('recognizes each known provider by its issuer, and none by any other issuer', () => {
    const names = ISSUERS.map((address) => {
      const settings = settingsOf({ issuer: address, client })
      const [verdict] = judgeProvider({ issuer: new URL(address), metadata: undefined, settings })
      return verdict?.text.split(/[:,]/)[0]
    })
    expect(names).to.deep.equal([
      'AD FS',
      'Auth0',
      'Azure AD B2C',
      'Amazon Cognito',
      'Entra External ID',
      'JumpCloud',
      'Kanidm',
      'OneLogin',
      'Synology SSO Server',
      undefined,
    ])
  })
})
