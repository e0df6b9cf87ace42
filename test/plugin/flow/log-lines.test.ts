import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Page } from '../../../fixtures/browser.ts'
import type { Fault } from '../../../fixtures/idp/faults.ts'
import { MESSAGES, type MessageCode } from '../../../plugin/errors.ts'
import { makeKey } from '../../support/client-keys.ts'
import { answerFromIdp, CLIENT, type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

type Expected = Readonly<Record<string, unknown>>
/** Only UserInfo has the id. */
const KNOWN_BY_NAME = { custom: { claims: { uuid: 'name' } } }
type Line = readonly [code: string, details: Expected, remedy: RegExp, told?: MessageCode]

describe('log line of a failed login', () => {
  const start = setups()

  /** Expects one line with the code, details and remedy, not truncated and without secrets. */
  function expectLine(setup: Setup, [code, details, remedy]: Line) {
    const [line, ...otherLines] = setup.lines('login-failed')
    expect(otherLines).to.deep.equal([])
    const { fields, message } = line!
    expect(fields).to.deep.include({ code, ...details })
    expect(message).to.match(remedy).and.to.match(/[^…]$/)
    const everything = JSON.stringify([setup.authLog, setup.output])
    expect(everything).to.not.include(CLIENT.client_secret)
    expect(everything).to.not.match(/eyJ|code=|[?&]state=/)
    return fields
  }

  async function failedLogin(setup: Setup, change: (answer: URL) => void = () => undefined): Promise<Page> {
    const person = setup.browser()
    const answer = new URL(await answerFromIdp(person, setup.host.url, 'alice'))
    change(answer)
    const page = await person.get(answer.href)
    expect(await setup.isIn(person)).to.equal(false)
    return page
  }

  const answering = (status: number, body: string, headers: Record<string, string> = {}): Fault => ({
    kind: 'answer',
    status,
    body,
    headers,
  })
  const HTML = { 'content-type': 'text/html; charset=utf-8' }
  const BASIC = { 'www-authenticate': 'Basic realm="idp"' }

  for (const fault of [{ kind: 'reset' }, { kind: 'hang' }] as const) {
    // Shows: plugin 10.25.
    it(`logs a lost token response, and never sends the code again (${fault.kind})`, async () => {
      const setup = await start()
      setup.idp.faults.set('token', fault)
      const failed = failedLogin(setup)
      if (fault.kind === 'hang') {
        await until('the code was sent', () => setup.idp.requests('token') > 0)
        await setup.clock.advance(10_000)
      }
      await failed
      const causeCode = fault.kind === 'reset' ? 'ECONNRESET' : 'TIMEOUT'
      const details = { endpoint: 'token_endpoint', causeCode }
      expectLine(setup, ['provider_unreachable', details, /was lost.*not repeated.*sign in again/])
      expect(setup.idp.requests('token')).to.equal(1)
    })
  }

  describe('token endpoint that refuses the code', () => {
    const oauth = (status: number, error: string, description?: string) =>
      answering(status, JSON.stringify({ error, error_description: description }))
    const redirect: Fault = { kind: 'redirect', to: 'https://login.test/page?session=secret' }
    const CREDENTIALS = /`client\.client_secret`.*`client\.token_endpoint_auth_method`/

    for (const [answer, fault, details, remedy] of [
      [
        '401 with a challenge without scheme',
        answering(401, '<h1>no</h1>', { 'www-authenticate': 'error="invalid_client", error_description=who' }),
        { status: 401, error: 'invalid_client', errorDescription: 'who' },
        CREDENTIALS,
      ],
      ['401 with a challenge alone', answering(401, '', BASIC), { status: 401 }, CREDENTIALS],
      [
        '401 unauthorized_client',
        oauth(401, 'unauthorized_client', 'Invalid client credentials'),
        { status: 401, error: 'unauthorized_client' },
        /`client\.client_secret`.*Keycloak.*`unauthorized_client`/,
      ],
      [
        '400 unauthorized_client',
        oauth(400, 'unauthorized_client'),
        { status: 400, error: 'unauthorized_client' },
        /Allow `client\.client_id` the authorization code flow/,
      ],
      ['invalid_grant', oauth(400, 'invalid_grant'), { status: 400, error: 'invalid_grant' }, /`client\.redirect_uri`/],
      [
        'words about PKCE',
        oauth(400, 'invalid_request', 'PKCE code_verifier not allowed'),
        { status: 400, error: 'invalid_request' },
        /does not accept PKCE/,
      ],
      [
        'a redirect',
        redirect,
        { status: 302, location: 'https://login.test/page' },
        /answers with a redirect.*`issuer\.token_endpoint`/,
      ],
      [
        '403 and a page',
        answering(403, '<h1>no</h1>', HTML),
        { status: 403, contentType: 'text/html' },
        /answers 403.*firewall/,
      ],
      ['403 and JSON', answering(403, '{"message":"blocked"}'), { status: 403 }, /firewall/],
      ['404', answering(404, 'nothing'), { status: 404 }, /no token endpoint at `address`/],
      ['429', answering(429, '{}'), { status: 429 }, /too many/],
      ['500 and a page', answering(500, '<h1>oops</h1>', HTML), { status: 500 }, /reports an internal error/],
      [
        'a page with status 200',
        answering(200, '<h1>Sign in</h1>', HTML),
        { status: 200, contentType: 'text/html' },
        /did not answer as the protocol requires/,
      ],
    ] as const satisfies readonly (readonly [string, Fault, Expected, RegExp])[]) {
      it(`logs status and remedy of a failed login if the token endpoint answers ${answer}`, async () => {
        const setup = await start()
        setup.idp.faults.set('token', fault)
        await failedLogin(setup)
        const fields = expectLine(setup, ['token_request_failed', details, remedy])
        if (fields.status !== undefined) {
          expect(fields).to.include({ endpoint: 'token_endpoint', address: `${setup.idp.issuer}/token` })
        }
      })
    }

    it("a failed login's log line shortens the IdP's description and hides secrets in it", async () => {
      const setup = await start()
      const person = setup.browser()
      const answer = await answerFromIdp(person, setup.host.url, 'alice')
      const code = new URL(answer).searchParams.get('code')!
      const description = `${CLIENT.client_secret} is no secret for ${code}\r\nforged \u001b[31m ${'x'.repeat(5000)}`
      setup.idp.faults.set(
        'token',
        answering(401, JSON.stringify({ error: 'invalid_client', error_description: description })),
      )
      await person.get(answer)
      const fields = expectLine(setup, ['token_request_failed', { error: 'invalid_client' }, /client_secret/])
      expect(JSON.stringify(setup.authLog)).to.not.include(code)
      expect(fields.errorDescription).to.match(/^\(hidden\) is no secret for \(hidden\) forged {1,2}\[31m x+…$/)
      expect(String(fields.errorDescription).length).to.be.at.most(201)
    })
  })

  // Shows: meshcentral 5.
  it('the log line of a failed login names the endpoint that did not answer', async () => {
    for (const [endpoint, fault, details] of [
      ['token', { kind: 'reset' }, { endpoint: 'token_endpoint', causeCode: 'ECONNRESET' }],
      ['jwks', { kind: 'answer', status: 500 }, { endpoint: 'jwks_uri', status: 500 }],
      ['userinfo', { kind: 'reset' }, { endpoint: 'userinfo_endpoint', causeCode: 'ECONNRESET', missingClaim: 'name' }],
    ] as const) {
      const setup = await start({ oidc: KNOWN_BY_NAME, idp: { claimsIn: 'userinfo' } })
      setup.idp.faults.set(endpoint, fault)
      await failedLogin(setup)
      expectLine(setup, ['provider_unreachable', details, /./])
    }
  })

  it('the log line of a failed login names the endpoint missing from discovery', async () => {
    const setup = await start({ publishes: { authorization_endpoint: undefined } })
    await setup.redirectFrom()
    expectLine(setup, ['metadata_incomplete', { endpoint: 'authorization_endpoint' }, /set it in `issuer`/])
  })

  it("a failed login's log line has the status and error that UserInfo answered", async () => {
    for (const [fault, details, remedy] of [
      [
        answering(403, '', { 'www-authenticate': 'Bearer error="insufficient_scope", error_description="no openid"' }),
        { status: 403, error: 'insufficient_scope', errorDescription: 'no openid' },
        /`custom\.scope` contains `openid`/,
      ],
      [answering(500, '<h1>oops</h1>', HTML), { status: 500 }, /userinfo endpoint reports an internal error/],
    ] as const) {
      const setup = await start({ oidc: KNOWN_BY_NAME, idp: { claimsIn: 'userinfo' } })
      setup.idp.faults.set('userinfo', fault)
      await failedLogin(setup)
      expectLine(setup, ['userinfo_failed', { endpoint: 'userinfo_endpoint', ...details }, remedy])
    }
  })

  for (const [condition, code, options, details, remedy] of [
    [
      'UserInfo is signed by another algorithm',
      'userinfo_failed',
      { client: { userinfo_signed_response_alg: 'ES256' }, registered: { userinfo_signed_response_alg: 'RS256' } },
      { received: 'RS256', expected: ['ES256'], member: 'client.userinfo_signed_response_alg' },
      /signed with another algorithm/,
    ],
    [
      'UserInfo is encrypted where nothing is configured',
      'userinfo_failed',
      { registered: { userinfo_signed_response_alg: 'RS256', userinfo_encrypted_response_alg: 'A256KW' } },
      { received: 'encrypted: A256KW, A128CBC-HS256', member: 'client.userinfo_encrypted_response_alg' },
      /Set `client\.userinfo_encrypted_response_alg`/,
    ],
    [
      'the ID token is signed by another algorithm',
      'id_token_invalid',
      { registered: { id_token_signed_response_alg: 'ES256' } },
      { received: 'ES256', expected: ['RS256'], member: 'client.id_token_signed_response_alg' },
      /`client\.id_token_signed_response_alg` says \(default RS256/,
    ],
    [
      'the ID token is encrypted where nothing is configured',
      'id_token_invalid',
      { registered: { id_token_encrypted_response_alg: 'A256KW', id_token_encrypted_response_enc: 'A256GCM' } },
      { received: 'encrypted: A256KW, A256GCM', member: 'client.id_token_encrypted_response_alg' },
      /Set `client\.id_token_encrypted_response_alg`/,
    ],
    [
      'the ID token is not encrypted where encryption is configured',
      'id_token_invalid',
      { client: { id_token_encrypted_response_alg: 'A256KW' } },
      { received: 'not encrypted', expected: 'encrypted: A256KW' },
      /but `client\.id_token_encrypted_response_alg`/,
    ],
  ] as const satisfies readonly (readonly [string, string, SetupOptions, Expected, RegExp])[]) {
    it(`a failed login's log line names the setting to change if ${condition}`, async () => {
      const setup = await start({ ...options, idp: { claimsIn: 'userinfo' } })
      await failedLogin(setup)
      expectLine(setup, [code, details, remedy])
    })
  }

  describe('log line of a refused ID token', () => {
    it("a failed login's log line contains no part of a token answer that is not JSON", async () => {
      const setup = await start()
      setup.idp.faults.set('token', answering(200, 'eyJhbGciOi'))
      await failedLogin(setup)
      const reason = 'failed to parse "response" body as JSON'
      expectLine(setup, ['id_token_invalid', { reason }, /./])
    })

    // Shows: meshcentral 7.
    it('the log line of a refused ID token contains no nonce', async () => {
      const setup = await start()
      setup.idp.forgeTokens((genuine) => setup.idp.sign({ ...decodeJwt(genuine), nonce: 'somebody-elses' }))
      await failedLogin(setup)
      const fields = expectLine(setup, ['id_token_invalid', { claim: 'nonce' }, /./])
      expect(fields).to.not.have.any.keys('received', 'expected')
    })

    it('the log line suggests issuer.jwks_uri if no published key verifies the ID token', async () => {
      const setup = await start()
      const { public: key } = makeKey('RSA', { kid: 'another' })
      setup.idp.faults.set('jwks', answering(200, JSON.stringify({ keys: [key] })))
      const failed = failedLogin(setup)
      // The key set is requested once more.
      await setup.clock.pass(1_000)
      await failed
      expectLine(setup, ['id_token_invalid', { algorithm: 'RS256' }, /`issuer\.jwks_uri`/])
    })
  })

  describe('log line of an error that the IdP sends', () => {
    for (const [error, description, remedy, message] of [
      ['access_denied', 'no', /cancelled at the IdP/, 'sign_in_cancelled'],
      ['login_required', '', /did not finish/, 'sign_in_incomplete'],
      ['invalid_request', 'Missing PKCE is forbidden', /does not accept PKCE/, 'provider_refused'],
      ['invalid_request', 'code_challenge_method not allowed', /does not accept PKCE/, 'provider_refused'],
      ['unauthorized_client', '', /`client\.response_types`/, 'provider_refused'],
      ['unsupported_response_type', '', /`client\.response_types`/, 'provider_refused'],
      ['temporarily_unavailable', '', /overloaded/, 'provider_unreachable'],
      ['constructor', '', /answered the login with an error/, 'provider_refused'],
    ] as const) {
      const idpError = description === '' ? error : `${error} "${description}"`
      it(`explains ${idpError} in the log and on the login page`, async () => {
        const setup = await start()
        const page = await failedLogin(setup, (answer) => {
          answer.searchParams.delete('code')
          answer.searchParams.set('error', error)
          if (description !== '') answer.searchParams.set('error_description', description)
        })
        expectLine(setup, ['provider_error', { error }, remedy])
        expect(page.url).to.match(new RegExp(`failure=${message}$`))
        expect(page.text).to.include(MESSAGES[message])
        if (message.startsWith('sign_in')) expect(MESSAGES[message]).to.not.match(/administrator/)
      })
    }
  })

  describe('log line of a user outside the required groups', () => {
    const USER = { username: 'alice', password: 'alice-demo', sub: 'u-1001' }

    it('the log line of a refused user has the path of the missing groups claim', async () => {
      const setup = await start({ oidc: { groups: { required: 'ops', claim: 'realm_access.roles' } } })
      setup.idp.setUser({ ...USER, claims: { name: 'Alice', groups: ['ops'] } })
      expect((await failedLogin(setup)).url).to.match(/failure=access_denied$/)
      const details = { groups: [], missingClaim: 'realm_access.roles', cameForOthers: false }
      const remedy =
        /claim `realm_access\.roles` did not come: .*in no group at all.*"Add to ID token".*app role.*`groups\.claim`/
      const line = expectLine(setup, ['not_in_required_group', details, remedy])
      expect(line.claimNames).to.include.members(['sub', 'name', 'groups']).and.not.include('ops')
    })

    it("a refused user's log line says that other users had the missing groups claim", async () => {
      const setup = await start({ oidc: { groups: { required: 'mesh-users' } } })
      await setup.signIn('bob')
      setup.idp.setUser({ ...USER, claims: { name: 'Alice' } })
      await failedLogin(setup)
      const details = { missingClaim: 'groups', cameForOthers: true }
      const remedy = /in no group at all\. .*for other users.*Add the user to/
      expectLine(setup, ['not_in_required_group', details, remedy])
    })
  })
})
