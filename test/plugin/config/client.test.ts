import { expect } from 'chai'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import { type ReadOptions, readDomains } from '../../../plugin/mount/read-domains.ts'
import { makeKey } from '../../support/client-keys.ts'
import * as oneDomain from './single-domain.ts'
import { asGiven, CLIENT, flagCase, ISSUER, itReadsMembers, type MemberCase, MINIMAL } from './single-domain.ts'

const keys = [makeKey('RSA', { kid: 'r' }).private, makeKey('P-256', { kid: 'e' }).private]
const FILES: Readonly<Record<string, string>> = { keys: JSON.stringify({ keys }), ...(await makeClientCertificate()) }
/** Options with keys and a certificate, so that every method and algorithm can be configured. */
const EQUIPPED: ReadOptions = {
  credentials: { '': { jwksFile: 'keys', tlsCertFile: 'cert', tlsKeyFile: 'key' } },
  readFile: (name) => FILES[name] ?? '',
}
const problemPaths = (oidc: unknown) => oneDomain.problemPaths(oidc, EQUIPPED)
const readOne = (oidc: unknown) => oneDomain.readOne(oidc, EQUIPPED)
const settingsOf = (oidc: unknown) => oneDomain.settingsOf(oidc, EQUIPPED)
const warningsOf = (oidc: unknown) => oneDomain.warningsOf(oidc, EQUIPPED)

const withClient = (members: object) => ({ issuer: ISSUER, client: { ...CLIENT, ...members } })
const client = (members: object) => settingsOf(withClient(members)).client
const BY_SECRET = ['client_secret_basic', 'client_secret_post', 'client_secret_jwt']
const WITHOUT_SECRET = ['none', 'private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']
const METHODS = [...BY_SECRET, ...WITHOUT_SECRET]

describe('settings in authStrategies.oidc.client', () => {
  // Shows: plugin 4.33.
  it('a client object with only client_id and client_secret gets documented defaults', () => {
    expect(settingsOf(MINIMAL).client).to.deep.equal({
      client_id: 'mesh',
      client_secret: 'not-to-be-shown',
      redirect_uri: 'https://mesh.example.com/auth-oidc-callback',
      post_logout_redirect_uri: 'https://mesh.example.com/login',
      id_token_signed_response_alg: 'RS256',
      authorization_signed_response_alg: 'RS256',
      response_types: ['code'],
      require_auth_time: false,
      token_endpoint_auth_method: 'client_secret_basic',
      introspection_endpoint_auth_method: 'client_secret_basic',
      revocation_endpoint_auth_method: 'client_secret_basic',
      tls_client_certificate_bound_access_tokens: false,
      require_signed_request_object: false,
      require_pushed_authorization_requests: false,
      dpop_bound_access_tokens: false,
    })
  })

  // Shows: plugin 4.38.
  it('refuses a client without client_id, or without a client_secret that it needs', () => {
    expect(problemPaths({ issuer: ISSUER })).to.deep.equal(['client'])
    expect(problemPaths({ issuer: ISSUER, client: {} })).to.deep.equal(['client.client_id', 'client.client_secret'])
    for (const wrong of ['', 5, null, ['a']]) {
      expect(problemPaths(withClient({ client_id: wrong }))).to.deep.equal(['client.client_id'])
      expect(problemPaths(withClient({ client_secret: wrong }))).to.deep.equal(['client.client_secret'])
    }
    expect(problemPaths({ issuer: ISSUER, client: 'mesh' })).to.deep.equal(['client'])
  })

  // Shows: plugin 4.34.
  it('requires client_secret only for authentication or algorithms that use it', () => {
    const without = (members: object) => ({ issuer: ISSUER, client: { client_id: 'mesh', ...members } })
    for (const method of BY_SECRET) {
      const needed = ['client.client_secret']
      expect(problemPaths(without({ token_endpoint_auth_method: method }))).to.deep.equal(needed)
      const elsewhere = { token_endpoint_auth_method: 'none', introspection_endpoint_auth_method: method }
      expect(problemPaths(without(elsewhere))).to.deep.equal(needed)
    }
    for (const method of WITHOUT_SECRET) {
      expect(settingsOf(without({ token_endpoint_auth_method: method })).client.client_secret).to.equal(null)
      for (const algorithm of [
        { id_token_signed_response_alg: 'HS256' },
        { userinfo_signed_response_alg: 'HS512' },
        { userinfo_encrypted_response_alg: 'dir' },
      ]) {
        const oidc = without({ token_endpoint_auth_method: method, ...algorithm })
        expect(problemPaths(oidc)).to.deep.equal(['client.client_secret'])
      }
    }
  })

  // Shows: plugin 4.19.
  it('introspection and revocation use token_endpoint_auth_method by default', () => {
    for (const method of METHODS) {
      expect(client({ token_endpoint_auth_method: method })).to.include({
        introspection_endpoint_auth_method: method,
        revocation_endpoint_auth_method: method,
      })
    }
    const methods = {
      token_endpoint_auth_method: 'private_key_jwt',
      revocation_endpoint_auth_method: 'client_secret_post',
    }
    expect(client(methods)).to.include({ ...methods, introspection_endpoint_auth_method: 'private_key_jwt' })
  })

  const LATER = { request_object_signing_alg: 'ES256' }
  const FRONT = ['query', 'form_post', 'fragment', 'jwt', 'query.jwt', 'form_post.jwt', 'fragment.jwt']
  const algorithms: readonly (readonly [name: string, value: string, beside?: object])[] = [
    ['id_token_signed_response_alg', 'ES256'],
    ['id_token_encrypted_response_alg', 'RSA-OAEP'],
    ['userinfo_signed_response_alg', 'PS256'],
    ['userinfo_encrypted_response_alg', 'ECDH-ES'],
    ['authorization_encrypted_response_alg', 'RSA-OAEP-256'],
    ['request_object_signing_alg', 'RS512'],
    ['request_object_encryption_alg', 'dir', LATER],
  ]
  const TWO = ['id_token', 'code']
  const PAGE = 'https://www.example.com/bye?from=mesh#top'
  const CASES: readonly MemberCase[] = [
    [
      'accepts exactly the seven known values of response_mode',
      'response_mode',
      asGiven(...FRONT, undefined),
      ['form-post', '', 5, null, ['query']],
    ],
    ...['id_token', 'code id_token'].map(
      (response_types): MemberCase => [
        `refuses response_mode query and query.jwt with response type ${response_types}`,
        'response_mode',
        asGiven('fragment'),
        ['query', 'query.jwt'],
        { response_types },
      ],
    ),
    [
      'refuses symmetric algorithms for authorization_signed_response_alg',
      'authorization_signed_response_alg',
      asGiven('ES256'),
      ['none', 'HS256', 'XY999', '', 5],
    ],
    [
      'accepts "issuer", "address" or a URL for assertion_audience',
      'assertion_audience',
      asGiven('issuer', 'address', 'https://idp.example.com/token'),
      ['Issuer', 'both', '', 5, null, ['issuer', 'address']],
    ],
    ...['token', 'introspection', 'revocation'].map(
      (where): MemberCase => [
        `accepts only known authentication methods for the ${where} endpoint`,
        `${where}_endpoint_auth_method`,
        asGiven(...METHODS),
        ['client_secret', 'CLIENT_SECRET_BASIC', '', 5, null],
      ],
    ),
    ...algorithms.map(
      ([name, value, beside]): MemberCase => [
        `refuses unsupported algorithms for ${name}`,
        name,
        asGiven(value),
        ['none', 'XY999', 'RSA1_5', 'Ed448', '', 5, null, [value]],
        beside,
      ],
    ),
    [
      'accepts response_types as string or array, without duplicates and in any order',
      'response_types',
      [
        ['code', ['code']],
        ['id_token', ['id_token']],
        ['code id_token', ['code id_token']],
        ['id_token code', ['code id_token']],
        [['code'], ['code']],
        [[...TWO, 'id_token'], TWO],
        [['code id_token'], ['code id_token']],
        [' code  id_token ', ['code id_token']],
      ],
      ['token', 'code token', 'none', '', 'code,id_token', 5, null, [], {}],
    ],
    [
      'accepts default_max_age only in whole seconds from 0',
      'default_max_age',
      asGiven(0, 3600),
      [-1, 1.5, '3600', null, true],
    ],
    ...[
      'require_auth_time',
      'tls_client_certificate_bound_access_tokens',
      'require_signed_request_object',
      'require_pushed_authorization_requests',
      'dpop_bound_access_tokens',
    ].map(flagCase),
    [
      'accepts a URL, true or false for post_logout_redirect_uri',
      'post_logout_redirect_uri',
      [...asGiven(PAGE, 'http://intranet.example.com/'), [true, 'https://mesh.example.com/login'], [false, null]],
      ['javascript:alert(1)', 'login', '', 5, null],
    ],
  ]
  // Shows: plugin 4.12, 4.24, 4.25, 4.26, 4.28, 4.29, 4.30, 4.31.
  itReadsMembers('client', CASES, EQUIPPED)

  for (const where of ['token', 'introspection', 'revocation']) {
    it(`refuses a signing algorithm that does not fit ${where}_endpoint_auth_method`, () => {
      const method = `${where}_endpoint_auth_method`
      const name = `${where}_endpoint_auth_signing_alg`
      const hs = { [method]: 'client_secret_jwt', [name]: 'HS512' }
      const es = { [method]: 'private_key_jwt', [name]: 'ES256' }
      expect(client(hs)).to.include(hs)
      expect(client(es)).to.include(es)
      for (const wrong of [{ ...hs, [name]: 'RS256' }, { ...es, [name]: 'HS256' }, { [name]: 'none' }, { [name]: 1 }]) {
        expect(problemPaths(withClient(wrong))).to.deep.equal([`client.${name}`])
      }
      const unknown = { [name]: 'ES257' }
      // An unknown algorithm is harmless if the method signs nothing.
      expect(warningsOf(withClient(unknown))).to.deep.equal([`unknown_algorithm client.${name}`])
      for (const signing of ['client_secret_jwt', 'private_key_jwt'])
        expect(problemPaths(withClient({ ...unknown, [method]: signing }))).to.deep.equal([`client.${name}`])
    })
  }

  for (const prefix of [
    'id_token_encrypted_response',
    'userinfo_encrypted_response',
    'authorization_encrypted_response',
    'request_object_encryption',
  ]) {
    // Shows: plugin 4.27.
    it(`refuses ${prefix}_enc without its _alg`, () => {
      const signed = { request_object_signing_alg: 'ES256' }
      const both = { ...signed, [`${prefix}_alg`]: 'RSA-OAEP-256', [`${prefix}_enc`]: 'A256GCM' }
      expect(client(both)).to.include(both)
      expect(problemPaths(withClient({ ...signed, [`${prefix}_enc`]: 'A256GCM' }))).to.deep.equal([
        `client.${prefix}_alg`,
      ])
      for (const wrong of ['A257GCM', 'none', 5]) {
        expect(problemPaths(withClient({ ...both, [`${prefix}_enc`]: wrong }))).to.deep.equal([`client.${prefix}_enc`])
      }
    })
  }

  it('refuses a client configured to encrypt request objects without signing them', () => {
    const encrypted = { request_object_encryption_alg: 'RSA-OAEP' }
    expect(problemPaths(withClient(encrypted))).to.deep.equal(['client.request_object_signing_alg'])
  })

  it('refuses HS256 for ID tokens that arrive through the browser', () => {
    const shared = { id_token_signed_response_alg: 'HS256' }
    expect(client(shared)).to.include(shared)
    for (const response_types of ['id_token', ['code id_token', 'code']]) {
      expect(problemPaths(withClient({ ...shared, response_types }))).to.deep.equal([
        'client.id_token_signed_response_alg',
      ])
    }
  })

  it('suggests RS256 if an algorithm in the client object is misspelt as RS265', () => {
    const [problem] = readOne(withClient({ id_token_signed_response_alg: 'RS265' })).problems
    expect(problem?.remedy).to.equal('Did you mean "RS256"?')
  })

  // Shows: plugin 4.12.
  it('reads the old response type authorization_code as code, with a warning', () => {
    expect(client({ response_types: 'authorization_code' }).response_types).to.deep.equal(['code'])
    const last = { response_types: ['id_token', ' authorization_code '] }
    expect(client(last).response_types).to.deep.equal(['id_token', 'code'])
    expect(warningsOf(withClient(last))).to.deep.equal(['deprecated_value client.response_types[1]'])
    expect(warningsOf(withClient({ response_types: 'authorization_code' }))).to.deep.equal([
      'deprecated_value client.response_types',
    ])
    expect(warningsOf(withClient({ response_types: ['code', 'authorization_code'] }))).to.deep.equal([
      'deprecated_value client.response_types[1]',
    ])
  })

  it('reports each invalid entry of response_types with its position in the list', () => {
    expect(problemPaths(withClient({ response_types: ['code', 'token', 5, ''] }))).to.have.members([
      'client.response_types[1]',
      'client.response_types[2]',
      'client.response_types[3]',
    ])
  })

  it('refuses a redirect_uri on plain HTTP, except on loopback', () => {
    for (const redirect_uri of ['https://a.example:8443/some/path?x=1', 'http://localhost:3000/cb', 'http://[::1]/cb'])
      expect(client({ redirect_uri }).redirect_uri).to.equal(redirect_uri)
    const wrong = ['http://mesh.example.com/cb', 'https://mesh.example.com/cb#x', '/cb', 'https://u:p@a.example/', 5]
    for (const redirect_uri of wrong)
      expect(problemPaths(withClient({ redirect_uri })), String(redirect_uri)).to.deep.equal(['client.redirect_uri'])
  })

  it('refuses a redirect_uri that has the path of a plugin route, in any spelling', () => {
    for (const path of ['', '/', '/login', '/Login/', '/logout', '/auth-oidc', '/auth-oidc-jwks?x=1']) {
      const redirect_uri = `https://mesh.example.com${path}`
      expect(problemPaths(withClient({ redirect_uri })), path).to.deep.equal(['client.redirect_uri'])
    }
    for (const path of ['/auth-oidc-callback', '/login/oidc', '/auth-oidc-azure-callback', '/sub/login']) {
      const redirect_uri = `https://mesh.example.com${path}`
      expect(client({ redirect_uri }).redirect_uri).to.equal(redirect_uri)
    }
    const domains = { '': {}, sub: { authStrategies: { oidc: withClient({ redirect_uri: 'https://m.example/sub' }) } } }
    const config = { settings: { cert: 'm.example' }, domains }
    const [reading] = readDomains(config, { basePathOf: (key) => (key === 'sub' ? '/sub/' : '/') }).domains
    expect(reading?.problems.map(({ path }) => path)).to.deep.equal([
      'domains.sub.authStrategies.oidc.client.redirect_uri',
    ])
  })

  // Shows: plugin 4.38.
  it('refuses unknown members of client, and suggests the right name or right object', () => {
    const { problems } = readOne(withClient({ clientsecret: 'not-to-be-shown', scope: 'openid', zzz: 1 }))
    expect(problems.map(({ remedy }) => remedy.split('.')[0])).to.deep.equal([
      'Did you mean "client_secret"?',
      'It belongs in "custom"',
      'Remove it',
    ])
  })
})
