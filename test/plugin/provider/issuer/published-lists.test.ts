import { expect } from 'chai'
import { unpublished } from '../../../../plugin/provider/issuer/published-lists.ts'
import { MINIMAL, settingsOf } from '../../config/single-domain.ts'

const ISSUER = 'https://idp.test'
const TOKEN = { issuer: ISSUER, token_endpoint: `${ISSUER}/t` }
const missing = (metadata: object, oidc: object = {}) =>
  unpublished({ ...TOKEN, ...metadata }, settingsOf({ ...MINIMAL, ...oidc })).map(
    ({ member, configured, list }) => `${member} ${configured} ${list}`,
  )

describe('lists of supported values that an IdP publishes', () => {
  it('reports nothing about a published list that is missing or not an array', () => {
    expect(missing({})).to.deep.equal([])
    expect(missing({ scopes_supported: 'openid', response_types_supported: { code: true } })).to.deep.equal([])
  })

  // Shows: plugin 3.10, 3.11, 3.12, 3.16.
  it("reports each configured value that is missing from the IdP's published list", () => {
    expect(
      missing(
        {
          id_token_signing_alg_values_supported: ['ES256'],
          token_endpoint_auth_methods_supported: ['private_key_jwt'],
          response_types_supported: ['id_token', 'code token'],
          response_modes_supported: ['query'],
          scopes_supported: ['openid', 'email', 7],
          code_challenge_methods_supported: ['plain'],
        },
        { groups: {}, client: { ...MINIMAL.client, response_mode: 'form_post.jwt' } },
      ),
    ).to.deep.equal([
      'client.id_token_signed_response_alg RS256 id_token_signing_alg_values_supported',
      'client.token_endpoint_auth_method client_secret_basic token_endpoint_auth_methods_supported',
      'client.response_types code response_types_supported',
      'client.response_mode form_post.jwt response_modes_supported',
      'custom.scope profile scopes_supported',
      'groups.scope groups scopes_supported',
      'PKCE S256 code_challenge_methods_supported',
    ])
  })

  it('finds a response type in a published list, with its words in any order', () => {
    const client = { ...MINIMAL.client, response_types: 'code id_token' }
    expect(missing({ response_types_supported: ['id_token code'] }, { client })).to.deep.equal([])
    expect(missing({ code_challenge_methods_supported: ['S256'] })).to.deep.equal([])
  })

  it('ignores a published list about an endpoint that the IdP does not publish', () => {
    const list = { introspection_endpoint_auth_methods_supported: ['private_key_jwt'] }
    expect(missing(list)).to.deep.equal([])
    expect(missing({ ...list, introspection_endpoint: `${ISSUER}/i` })).to.have.length(1)
  })

  it('reports only the first twenty entries of a published list', () => {
    const scopes_supported = Array.from({ length: 500 }, (_, index) => `scope-${index}`)
    const [finding] = unpublished({ ...TOKEN, scopes_supported }, settingsOf(MINIMAL))
    expect(finding?.published).to.have.length(20)
  })
})
