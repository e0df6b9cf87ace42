import { expect } from 'chai'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import { type ReadOptions, readDomains } from '../../../plugin/mount/read-domains.ts'
import { makeKey } from '../../support/client-keys.ts'
import * as oneDomain from './one-domain.ts'
import { CLIENT, ISSUER, MINIMAL } from './one-domain.ts'

const keys = [makeKey('RSA', { kid: 'r' }).private, makeKey('P-256', { kid: 'e' }).private]
const FILES: Readonly<Record<string, string>> = { keys: JSON.stringify({ keys }), ...(await makeClientCertificate()) }
/** With keys and a certificate, so that everything may be asked for. */
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

describe('client configuration', () => {
  it('has the defaults of the specification', () => {
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

  it('is required, and so are client_id and, unless nothing needs it, client_secret', () => {
    expect(problemPaths({ issuer: ISSUER })).to.deep.equal(['client'])
    expect(problemPaths({ issuer: ISSUER, client: {} })).to.deep.equal(['client.client_id', 'client.client_secret'])
    for (const wrong of ['', 5, null, ['a']]) {
      expect(problemPaths(withClient({ client_id: wrong }))).to.deep.equal(['client.client_id'])
      expect(problemPaths(withClient({ client_secret: wrong }))).to.deep.equal(['client.client_secret'])
    }
    expect(problemPaths({ issuer: ISSUER, client: 'mesh' })).to.deep.equal(['client'])
  })

  it('asks for the secret with each method and algorithm that needs one, and with no other', () => {
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

  it('has the method of the token endpoint at the others too, where none is given for them', () => {
    for (const method of METHODS) {
      expect(client({ token_endpoint_auth_method: method })).to.include({
        introspection_endpoint_auth_method: method,
        revocation_endpoint_auth_method: method,
      })
    }
    const own = { token_endpoint_auth_method: 'private_key_jwt', revocation_endpoint_auth_method: 'client_secret_post' }
    expect(client(own)).to.include({ ...own, introspection_endpoint_auth_method: 'private_key_jwt' })
  })

  it('takes response_mode as one of seven, and none that shows an ID token in an address', () => {
    for (const response_mode of ['query', 'form_post', 'fragment', 'jwt', 'query.jwt', 'form_post.jwt', 'fragment.jwt'])
      expect(client({ response_mode }).response_mode).to.equal(response_mode)
    expect(client({}).response_mode).to.equal(undefined)
    for (const wrong of ['form-post', '', 5, null, ['query']])
      expect(problemPaths(withClient({ response_mode: wrong }))).to.deep.equal(['client.response_mode'])
    for (const response_types of ['id_token', 'code id_token']) {
      expect(client({ response_types, response_mode: 'fragment' }).response_mode).to.equal('fragment')
      for (const response_mode of ['query', 'query.jwt'])
        expect(problemPaths(withClient({ response_types, response_mode }))).to.deep.equal(['client.response_mode'])
    }
  })

  it('takes authorization_signed_response_alg of key pairs only', () => {
    expect(client({ authorization_signed_response_alg: 'ES256' }).authorization_signed_response_alg).to.equal('ES256')
    for (const wrong of ['none', 'HS256', 'XY999', '', 5]) {
      const oidc = withClient({ authorization_signed_response_alg: wrong })
      expect(problemPaths(oidc)).to.deep.equal(['client.authorization_signed_response_alg'])
    }
  })

  it('takes assertion_audience as issuer, address or an address', () => {
    for (const assertion_audience of ['issuer', 'address', 'https://idp.example.com/token'])
      expect(client({ assertion_audience }).assertion_audience).to.equal(assertion_audience)
    for (const wrong of ['Issuer', 'both', '', 5, null, ['issuer', 'address']])
      expect(problemPaths(withClient({ assertion_audience: wrong }))).to.deep.equal(['client.assertion_audience'])
  })

  for (const where of ['token', 'introspection', 'revocation']) {
    it(`takes all methods for the ${where} endpoint, and no other`, () => {
      const name = `${where}_endpoint_auth_method`
      for (const method of METHODS) expect(client({ [name]: method })).to.include({ [name]: method })
      for (const wrong of ['client_secret', 'CLIENT_SECRET_BASIC', '', 5, null]) {
        expect(problemPaths(withClient({ [name]: wrong }))).to.deep.equal([`client.${name}`])
      }
    })

    it(`holds the signing algorithm for the ${where} endpoint against the method`, () => {
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
      // Where the method signs nothing, it does no harm.
      expect(warningsOf(withClient(unknown))).to.deep.equal([`unknown_algorithm client.${name}`])
      for (const signing of ['client_secret_jwt', 'private_key_jwt'])
        expect(problemPaths(withClient({ ...unknown, [method]: signing }))).to.deep.equal([`client.${name}`])
    })
  }

  for (const [name, value] of [
    ['id_token_signed_response_alg', 'ES256'],
    ['id_token_encrypted_response_alg', 'RSA-OAEP'],
    ['userinfo_signed_response_alg', 'PS256'],
    ['userinfo_encrypted_response_alg', 'ECDH-ES'],
    ['authorization_encrypted_response_alg', 'RSA-OAEP-256'],
    ['request_object_signing_alg', 'RS512'],
    ['request_object_encryption_alg', 'dir'],
  ] as const) {
    it(`keeps ${name}, and refuses an algorithm that cannot work here`, () => {
      const signed = name === 'request_object_encryption_alg' ? { request_object_signing_alg: 'ES256' } : {}
      expect(client({ ...signed, [name]: value })).to.include({ [name]: value })
      expect(warningsOf(withClient({ ...signed, [name]: value }))).to.deep.equal([])
      for (const wrong of ['none', 'XY999', 'RSA1_5', 'Ed448', '', 5, null, [value]]) {
        expect(problemPaths(withClient({ ...signed, [name]: wrong }))).to.deep.equal([`client.${name}`])
      }
    })
  }

  for (const what of [
    'id_token_encrypted_response',
    'userinfo_encrypted_response',
    'authorization_encrypted_response',
    'request_object_encryption',
  ]) {
    it(`keeps ${what}_enc, but not without ${what}_alg`, () => {
      const signed = { request_object_signing_alg: 'ES256' }
      const both = { ...signed, [`${what}_alg`]: 'RSA-OAEP-256', [`${what}_enc`]: 'A256GCM' }
      expect(client(both)).to.include(both)
      expect(problemPaths(withClient({ ...signed, [`${what}_enc`]: 'A256GCM' }))).to.deep.equal([`client.${what}_alg`])
      for (const wrong of ['A257GCM', 'none', 5]) {
        expect(problemPaths(withClient({ ...both, [`${what}_enc`]: wrong }))).to.deep.equal([`client.${what}_enc`])
      }
    })
  }

  it('refuses request objects that are encrypted but not signed', () => {
    const encrypted = { request_object_encryption_alg: 'RSA-OAEP' }
    expect(problemPaths(withClient(encrypted))).to.deep.equal(['client.request_object_signing_alg'])
  })

  it('refuses ID tokens signed by the client secret where the browser brings them', () => {
    const shared = { id_token_signed_response_alg: 'HS256' }
    expect(client(shared)).to.include(shared)
    for (const response_types of ['id_token', ['code id_token', 'code']]) {
      expect(problemPaths(withClient({ ...shared, response_types }))).to.deep.equal([
        'client.id_token_signed_response_alg',
      ])
    }
  })

  it('suggests the algorithm that was probably meant', () => {
    const [problem] = readOne(withClient({ id_token_signed_response_alg: 'RS265' })).problems
    expect(problem?.remedy).to.equal('Did you mean "RS256"?')
  })

  it('takes response_types as a string or an array, none twice, words in any order', () => {
    for (const [value, expected] of [
      ['code', ['code']],
      ['id_token', ['id_token']],
      ['code id_token', ['code id_token']],
      ['id_token code', ['code id_token']],
      [['code'], ['code']],
      [
        ['id_token', 'code', 'id_token'],
        ['id_token', 'code'],
      ],
      [['code id_token'], ['code id_token']],
      [' code  id_token ', ['code id_token']],
    ] as const) {
      expect(client({ response_types: value }).response_types).to.deep.equal(expected)
      expect(warningsOf(withClient({ response_types: value }))).to.deep.equal([])
    }
  })

  it('takes the old response type authorization_code for code, with a warning', () => {
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

  it('refuses other response types, and an empty list of them', () => {
    for (const wrong of ['token', 'code token', 'none', '', 'code,id_token', 5, null, [], {}]) {
      expect(problemPaths(withClient({ response_types: wrong })), String(wrong)).to.deep.equal([
        'client.response_types',
      ])
    }
    expect(problemPaths(withClient({ response_types: ['code', 'token', 5, ''] }))).to.have.members([
      'client.response_types[1]',
      'client.response_types[2]',
      'client.response_types[3]',
    ])
  })

  it('takes default_max_age in whole seconds, zero included', () => {
    for (const age of [0, 3600]) expect(client({ default_max_age: age }).default_max_age).to.equal(age)
    for (const wrong of [-1, 1.5, '3600', null, true]) {
      expect(problemPaths(withClient({ default_max_age: wrong }))).to.deep.equal(['client.default_max_age'])
    }
  })

  for (const name of [
    'require_auth_time',
    'tls_client_certificate_bound_access_tokens',
    'require_signed_request_object',
    'require_pushed_authorization_requests',
    'dpop_bound_access_tokens',
  ]) {
    it(`takes ${name} as a boolean`, () => {
      for (const value of [true, false]) expect(client({ [name]: value })).to.include({ [name]: value })
      for (const wrong of ['true', 1, null]) {
        expect(problemPaths(withClient({ [name]: wrong }))).to.deep.equal([`client.${name}`])
      }
    })
  }

  it('takes any redirect address on https, and on plain HTTP on this machine only', () => {
    for (const redirect_uri of [
      'https://a.example:8443/some/path?x=1',
      'http://localhost:3000/cb',
      'http://[::1]/cb',
    ]) {
      expect(client({ redirect_uri }).redirect_uri).to.equal(redirect_uri)
    }
    for (const wrong of [
      'http://mesh.example.com/cb',
      'https://mesh.example.com/cb#x',
      '/cb',
      'https://u:p@a.example/',
      5,
    ]) {
      expect(problemPaths(withClient({ redirect_uri: wrong })), String(wrong)).to.deep.equal(['client.redirect_uri'])
    }
  })

  it('takes no redirect address on a path that has another use, in any spelling of it', () => {
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

  it('takes post_logout_redirect_uri as an address, true for the default and false for none', () => {
    const page = 'https://www.example.com/bye?from=mesh#top'
    for (const [value, expected] of [
      [page, page],
      ['http://intranet.example.com/', 'http://intranet.example.com/'],
      [true, 'https://mesh.example.com/login'],
      [false, null],
    ]) {
      expect(client({ post_logout_redirect_uri: value }).post_logout_redirect_uri).to.equal(expected)
    }
    for (const wrong of ['javascript:alert(1)', 'login', '', 5, null]) {
      expect(problemPaths(withClient({ post_logout_redirect_uri: wrong })), String(wrong)).to.deep.equal([
        'client.post_logout_redirect_uri',
      ])
    }
  })

  it('refuses unknown members, names the nearest known one, and says where a member of another object belongs', () => {
    const { problems } = readOne(withClient({ clientsecret: 'not-to-be-shown', scope: 'openid', zzz: 1 }))
    expect(problems.map(({ remedy }) => remedy.split('.')[0])).to.deep.equal([
      'Did you mean "client_secret"?',
      'It belongs in "custom"',
      'Remove it',
    ])
  })
})
