import { expect } from 'chai'
import { CLIENT, ISSUER, readOne, warningsOf } from '../one-domain.ts'

const configured = (issuer: object, client: object = {}) => ({
  issuer: { issuer: ISSUER, ...issuer },
  client: { ...CLIENT, ...client },
})

describe('what the issuer object says that the IdP supports', () => {
  for (const where of ['token', 'introspection', 'revocation']) {
    const [methods, method] = [`${where}_endpoint_auth_methods_supported`, `${where}_endpoint_auth_method`]
    const [algorithms, algorithm] = [
      `${where}_endpoint_auth_signing_alg_values_supported`,
      `${where}_endpoint_auth_signing_alg`,
    ]

    it(`warns of a ${method} that is not in ${methods}, the default included`, () => {
      const onlyPost = { [methods]: 'client_secret_post' }
      expect(warningsOf(configured(onlyPost))).to.deep.equal([`not_supported client.${method}`])
      expect(warningsOf(configured(onlyPost, { [method]: 'none' }))).to.deep.equal([`not_supported client.${method}`])
      expect(warningsOf(configured(onlyPost, { [method]: 'client_secret_post' }))).to.deep.equal([])
      expect(warningsOf(configured({ [methods]: 'none, client_secret_basic' }))).to.deep.equal([])
    })

    it(`warns of a ${algorithm} that is not in ${algorithms}, and of none where it is not set`, () => {
      const client = { [method]: 'client_secret_jwt', [algorithm]: 'HS512' }
      expect(warningsOf(configured({ [algorithms]: 'HS256 HS384' }, client))).to.deep.equal([
        `not_supported client.${algorithm}`,
      ])
      expect(warningsOf(configured({ [algorithms]: 'HS256 HS512' }, client))).to.deep.equal([])
      expect(warningsOf(configured({ [algorithms]: 'HS256' }))).to.deep.equal([])
    })
  }

  it('warns of a request_object_signing_alg that is not in request_object_signing_alg_values_supported', () => {
    const warnings = (list: string) =>
      warningsOf(
        configured({ request_object_signing_alg_values_supported: list }, { request_object_signing_alg: 'HS256' }),
      )
    expect(warnings('RS256')).to.deep.equal(['not_supported client.request_object_signing_alg'])
    expect(warnings('RS256 HS256')).to.deep.equal([])
  })

  it('covers the algorithms of tokens, answers and requests, and the response mode', () => {
    const cases = [
      ['id_token_signed_response_alg', 'id_token_signing_alg_values_supported', 'ES256'],
      ['userinfo_signed_response_alg', 'userinfo_signing_alg_values_supported', 'ES256'],
      ['authorization_signed_response_alg', 'authorization_signing_alg_values_supported', 'ES256'],
      ['response_mode', 'response_modes_supported', 'form_post'],
    ] as const
    for (const [member, list, value] of cases) {
      const warnings = (published: string) => warningsOf(configured({ [list]: published }, { [member]: value }))
      expect(warnings('RS256 query'), member).to.deep.equal([`not_supported client.${member}`])
      expect(warnings(`RS256 query ${value}`), member).to.deep.equal([])
    }
    expect(warningsOf(configured({ id_token_signing_alg_values_supported: 'ES256' }))).to.deep.equal([
      'not_supported client.id_token_signed_response_alg',
    ])
  })

  it('is told by name, without quoting a value', () => {
    const { warnings } = readOne(configured({ token_endpoint_auth_methods_supported: 'client_secret_post' }))
    expect(warnings[0]?.reason).to.equal(
      'is client_secret_basic by default, which is not in issuer.token_endpoint_auth_methods_supported',
    )
  })
})
