import { expect } from 'chai'
import * as oidc from 'openid-client'
import type { LoginError } from '../../../../plugin/errors.ts'
import type { TimeRules } from '../../../../plugin/provider/faults/token-fault.ts'
import { translateLoginFault, translateUserInfoFault } from '../../../../plugin/provider/faults.ts'

const ISSUER = 'https://idp.test'
const METADATA = {
  issuer: ISSUER,
  token_endpoint: `${ISSUER}/token`,
  userinfo_endpoint: `${ISSUER}/userinfo`,
  jwks_uri: `${ISSUER}/jwks`,
}
const NOW_S = Math.floor(Date.now() / 1000)
const CLAIMS = { iss: ISSUER, sub: 'alice', aud: 'mesh', iat: NOW_S, exp: NOW_S + 86_400, nonce: 'n' }

/** Returns a token with an invalid signature, since most tests do not verify it. */
function token(claims: object = CLAIMS, header: object = { alg: 'RS256' }): string {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  return `${parts.join('.')}.c2ln`
}

const json = (body: unknown) => Response.json(body)
const tokens = (idToken: string) => json({ access_token: 'a', token_type: 'bearer', id_token: idToken })
const jwt = (text: string) => new Response(text, { headers: { 'content-type': 'application/jwt' } })

/** Returns a client of the installed library, at an IdP with these answers by path. */
function client(answers: Record<string, Response>, metadata: object = {}, members: object = {}): oidc.Configuration {
  const config = new oidc.Configuration({ ...METADATA, ...metadata }, 'mesh', members, oidc.None())
  config[oidc.customFetch] = async (url) => answers[new URL(url).pathname] ?? new Response(null, { status: 404 })
  return config
}

interface Login {
  readonly answer?: Record<string, string>
  readonly token?: Response
  readonly metadata?: object
  readonly members?: TimeRules & object
  readonly keys?: readonly object[]
}

async function failedLogin(login: Login): Promise<LoginError> {
  const { members = {}, keys } = login
  const answers = { '/token': login.token ?? tokens(token()), '/jwks': json({ keys }) }
  const config = client(answers, login.metadata, members)
  if (keys) oidc.enableNonRepudiationChecks(config)
  const url = new URL('https://mesh.test/auth-oidc-callback')
  url.search = new URLSearchParams({ code: 'c', state: 's', ...login.answer }).toString()
  const checks = {
    expectedState: 's',
    expectedNonce: 'n',
    ...(members.default_max_age === undefined ? {} : { maxAge: members.default_max_age }),
  }
  return oidc.authorizationCodeGrant(config, url, checks).then(
    () => expect.fail('the library takes it'),
    (error: unknown) => translateLoginFault(error, members),
  )
}

async function failedUserInfo(answer: Response, metadata: object = {}, members: object = {}): Promise<LoginError> {
  return oidc.fetchUserInfo(client({ '/userinfo': answer }, metadata, members), 'a', 'alice').then(
    () => expect.fail('the library takes it'),
    (error: unknown) => translateUserInfoFault(error),
  )
}

/** The expected fault. `details` are some of its details. */
interface Expected {
  /** Default: the code of a faulty ID token. */
  readonly code?: string
  readonly details: object
  readonly remedy: RegExp
}

const ENCRYPTED = `${Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString('base64url')}.a.b.c.d`

const byToken = (claims: object) => () => failedLogin({ token: tokens(token({ ...CLAIMS, ...claims })) })

const FAULTS: Readonly<Record<string, readonly [() => Promise<LoginError>, Expected]>> = {
  'an ID token of another algorithm': [
    () => failedLogin({ token: tokens(token(CLAIMS, { alg: 'ES256' })) }),
    { details: { received: 'ES256', expected: ['RS256'] }, remedy: /another algorithm/ },
  ],
  'a UserInfo answer that is signed unasked': [
    () => failedUserInfo(jwt(token())),
    { code: 'userinfo_failed', details: { received: 'signed' }, remedy: /is signed, but no algorithm is configured/ },
  ],
  'an ID token that is encrypted unasked': [
    () => failedLogin({ token: tokens(ENCRYPTED) }),
    { details: { received: 'encrypted: dir, A256GCM' }, remedy: /but no encryption is configured/ },
  ],
  'a UserInfo answer that is not signed': [
    () => failedUserInfo(json({ sub: 'alice' }), {}, { userinfo_signed_response_alg: 'RS256' }),
    { code: 'userinfo_failed', details: { received: 'not signed' }, remedy: /is not signed, but/ },
  ],
  'an ID token without auth_time despite default_max_age': [
    () => failedLogin({ members: { default_max_age: 60 } }),
    { details: { claim: 'auth_time' }, remedy: /lacks `auth_time`, the time when the user last signed in/ },
  ],
  'an ID token without auth_time despite require_auth_time': [
    () => failedLogin({ members: { require_auth_time: true } }),
    { details: { claim: 'auth_time' }, remedy: /lacks `auth_time`, the time when the user last signed in/ },
  ],
  'a signature without a key for it': [
    () => failedLogin({ token: tokens(token(CLAIMS, { alg: 'RS256', kid: 'one' })), keys: [] }),
    { details: { keyId: 'one', algorithm: 'RS256' }, remedy: /has no key, or several/ },
  ],
  'an error with status 200 from the token endpoint': [
    () => failedLogin({ token: json({ error: 'server_error', error_description: 'oops' }) }),
    {
      code: 'token_request_failed',
      details: { error: 'server_error', errorDescription: 'oops' },
      remedy: /The answer of the token endpoint is not as the protocol requires/,
    },
  ],
  'UserInfo without a subject': [
    () => failedUserInfo(json({ error: 'server_error' })),
    {
      code: 'userinfo_failed',
      details: { error: 'server_error' },
      remedy: /The answer of the UserInfo endpoint is not as the protocol requires/,
    },
  ],
  'an ID token of another issuer': [
    byToken({ iss: 'https://other.test' }),
    { details: { claim: 'iss', received: ['https://other.test'], expected: ISSUER }, remedy: /another issuer/ },
  ],
  'an ID token for another client': [
    byToken({ aud: 'other' }),
    { details: { claim: 'aud', received: ['other'] }, remedy: /for another client/ },
  ],
  'an ID token without an audience': [
    byToken({ aud: [] }),
    { details: { claim: 'aud' }, remedy: /for another client/ },
  ],
  'an ID token that was issued to another client': [
    byToken({ aud: ['mesh', 'other'], azp: 'other' }),
    { details: { claim: 'azp', received: ['other'] }, remedy: /issued to another client/ },
  ],
  'an expired ID token': [
    byToken({ exp: 1_700_000_000 }),
    { details: { claim: 'exp', received: '2023-11-14T22:13:20.000Z' }, remedy: /clocks/ },
  ],
  'an ID token that is not valid yet': [
    byToken({ nbf: NOW_S + 3600 }),
    { details: { claim: 'nbf' }, remedy: /clocks/ },
  ],
  'a login that is too old': [
    () => failedLogin({ token: tokens(token({ ...CLAIMS, auth_time: 1 })), members: { default_max_age: 60 } }),
    { details: { claim: 'auth_time' }, remedy: /longer ago than/ },
  ],
  'no token endpoint': [
    () => failedLogin({ metadata: { token_endpoint: undefined } }),
    { code: 'metadata_incomplete', details: { endpoint: 'token_endpoint' }, remedy: /set it in `issuer`/ },
  ],
  'an answer of another issuer': [
    () => failedLogin({ answer: { iss: 'https://other.test' } }),
    { code: 'answer_issuer_invalid', details: { received: 'https://other.test', expected: ISSUER }, remedy: /./ },
  ],
  'an answer that does not name its issuer': [
    () => failedLogin({ metadata: { authorization_response_iss_parameter_supported: true } }),
    { code: 'answer_issuer_invalid', details: { received: 'none' }, remedy: /./ },
  ],
}

describe('errors of the installed openid-client', () => {
  for (const [title, [provoke, { code = 'id_token_invalid', details, remedy }]] of Object.entries(FAULTS)) {
    it(`explains an error of openid-client: ${title}`, async () => {
      const fault = await provoke()
      expect(fault.code).to.equal(code)
      expect(fault.details).to.deep.include(details)
      expect(fault.message).to.match(remedy)
    })
  }

  it('reports an openid-client error of unknown kind as id_token_invalid', async () => {
    const fault = await failedLogin({ token: tokens(token({ ...CLAIMS, sub: 7 })) })
    expect(fault.code).to.equal('id_token_invalid')
    expect(fault.details.claim).to.equal(undefined)
    expect((await failedLogin({ answer: { response: 'x' } })).code).to.equal('id_token_invalid')
  })
})
