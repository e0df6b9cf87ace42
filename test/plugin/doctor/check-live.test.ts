import { createServer } from 'node:http'
import { expect } from 'chai'
import { makeCertificates } from '../../../fixtures/certificate.ts'
import type { Fault } from '../../../fixtures/idp/faults.ts'
import type { LiveOptions } from '../../../plugin/doctor/check-live.ts'
import { type ClientKeyPair, makeKey } from '../../support/client-keys.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { onLoopback } from '../../support/on-loopback.ts'
import { KEY, LiveCheckSetup, type Members, REDIRECT, type Situation } from './live-check-setup.ts'

const REDIRECTION = 'client and redirect address'
const SECRET = 'secret or key'
const PUSHING = { require_pushed_authorization_requests: true }

describe('mesh-companion-check --live', () => {
  const setup = new LiveCheckSetup()
  afterEach(() => setup.close())

  const publishing = (metadata: Members): Fault => ({
    kind: 'rewrite',
    body: (original) => ({ ...(original as object), ...metadata }),
  })

  // Shows: plugin 9.32.
  it('the live check passes with a correct IdP and a correct configuration', async () => {
    const idp = await setup.start()
    const { code, output, lines } = await setup.run(idp)
    expect(output).to.match(/^domain "": no errors, no warnings\n(?:.*\n)+domain "", live:\n/)
    expect(lines).to.deep.equal([
      `ok: discovery: status 200, plain HTTP on loopback, issuer ${idp.issuer}`,
      'ok: key set: 3 keys, at least one for RS256',
      'ok: clock: differs by at most 5 s from the clock of this machine',
      'ok: algorithms: published as configured',
      'ok: client authentication: published as configured',
      'ok: scopes: published as configured',
      'ok: response types: published as configured',
      'ok: PKCE: published as configured',
      `ok: client and redirect address: both are registered: the answer came to ${REDIRECT}, with login_required`,
      'ok: secret or key: accepted with client_secret_basic: the IdP objects to the made-up code only',
      'ok: UserInfo: refuses a made-up token (status 401)',
      'ok: post-logout address: unknown: this IdP does not tell without a signed-in user',
      // This server need not run for the check.
      'warn: files of this server: Not checked: http://127.0.0.1:9 cannot be reached from this machine [causeCode: ECONNREFUSED]. Check again while it runs, on a machine that knows its name.',
    ])
    expect(code).to.equal(0)
  })

  it('the live check with --meshcentral passes for a correct domain and IdP', async () => {
    const { lines } = await setup.run(await setup.start(), {}, '--meshcentral')
    expect(lines.filter((line) => !/^ok: |: files of this server: /.test(line))).to.deep.equal([])
  })

  // Shows: plugin 10.15.
  it('the live check warns if UserInfo is unreachable or accepts an invented token', async () => {
    for (const [fault, oidc, line] of [
      [{ kind: 'answer', status: 404 }, {}, /^warn: UserInfo: .* \[status: 404\]$/],
      [{ kind: 'redirect', to: 'https://login.test/' }, {}, /^warn: UserInfo: .* \[status: 302\]$/],
      [{ kind: 'answer', status: 200, body: '{}' }, {}, /^warn: UserInfo: .* \[status: 200\]$/],
      [{ kind: 'reset' }, {}, /^warn: UserInfo: .*ECONNRESET.*issuer\.userinfo_endpoint/],
      [{ kind: 'answer', status: 403 }, {}, /^ok: UserInfo: refuses a made-up token/],
      [{ kind: 'answer', status: 404 }, { userinfo_endpoint: false }, /^ok: UserInfo: switched off/],
    ] as const) {
      const idp = await setup.start()
      idp.faults.set('userinfo', fault)
      const { code, lineOf } = await setup.run(idp, { oidc: { issuer: { issuer: idp.issuer, ...oidc } } })
      expect(lineOf('UserInfo')).to.match(line)
      expect(code).to.equal(0)
    }
  })

  it('the live check sends no request for a domain that has configuration errors', async () => {
    const idp = await setup.start()
    const { code, output } = await setup.run(idp, { oidc: { newAccounts: 1 } })
    expect(code).to.equal(1)
    expect(output).to.contain('domain "", live: not checked. Correct the errors of this domain first.\n')
    expect(idp.requests('discovery')).to.equal(0)
  })

  it("the live check fails and stops if the IdP's discovery names another issuer", async () => {
    const idp = await setup.start()
    idp.faults.set('discovery', publishing({ issuer: 'https://other.example' }))
    expect((await setup.run(idp)).lineOf('discovery')).to.match(/^fail: .*publishedIssuer: https:\/\/other\.example/)
    expect(idp.requests('token') + idp.requests('authorization')).to.equal(0)
  })

  it("the live check fails if the IdP's port is closed or its certificate is untrusted", async () => {
    const idp = await setup.start()
    await idp.down()
    expect((await setup.run(idp)).lineOf('discovery')).to.match(/^fail: .*Nothing listens .*ECONNREFUSED/)
    const { server } = await makeCertificates()
    const secured = await setup.start({}, { tls: server })
    expect((await setup.run(secured)).lineOf('discovery')).to.match(/^fail: .*NODE_EXTRA_CA_CERTS.*causeCode: [A-Z_]+/)
  })

  it('the live check warns if discovery fails, and still checks configured endpoints', async () => {
    const idp = await setup.start()
    idp.faults.set('discovery', { kind: 'answer', status: 500 })
    const issuer = {
      issuer: idp.issuer,
      authorization_endpoint: `${idp.issuer}/auth`,
      token_endpoint: `${idp.issuer}/token`,
      jwks_uri: `${idp.issuer}/jwks`,
    }
    const { code, lines, lineOf } = await setup.run(idp, { oidc: { issuer } })
    expect(lineOf('discovery')).to.match(/^warn: discovery: The endpoints in `issuer` are used\. /)
    expect(lineOf('PKCE')).to.equal('ok: PKCE: the IdP publishes nothing about it')
    expect(lines.filter((line) => line.startsWith('ok: '))).to.have.length(11)
    expect(code).to.equal(0)
  })

  it("the live check warns of configured values that are not in the IdP's lists", async () => {
    const published = {
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
      scopes_supported: ['openid'],
      response_modes_supported: ['fragment'],
      code_challenge_methods_supported: ['plain'],
    }
    const idp = await setup.start()
    idp.faults.set('discovery', publishing(published))
    const { code, lineOf } = await setup.run(idp, { client: { response_mode: 'query' } })
    expect(lineOf('client authentication')).to.match(/^warn: .*lacks client_secret_basic/)
    expect(lineOf('scopes')).to.match(/^warn: .*lacks profile \(custom\.scope\)/)
    expect(lineOf('response types')).to.match(/^warn: .*lacks query \(client\.response_mode\)/)
    expect(lineOf('PKCE')).to.match(/^warn: .*lacks S256/)
    expect(code).to.equal(0)
  })

  it('the live check fails if the IdP publishes no usable authorization_endpoint', async () => {
    for (const odd of [7, null, [], {}]) {
      const idp = await setup.start()
      idp.faults.set('discovery', publishing({ authorization_endpoint: odd, scopes_supported: odd }))
      const { code, lineOf } = await setup.run(idp)
      expect(lineOf(REDIRECTION), JSON.stringify(odd)).to.match(/^fail: /)
      expect(code).to.equal(1)
    }
  })

  it('the live check uses a pushed authorization request if the client requires one', async () => {
    const idp = await setup.start()
    expect((await setup.run(idp, { client: PUSHING })).lineOf(REDIRECTION)).to.match(/^ok: /)
    expect(idp.requests('pushed_authorization_request')).to.equal(1)
  })

  it('the live check warns if the IdP redirects to a page, and does not open the page', async () => {
    const idp = await setup.start()
    idp.faults.set('authorization', redirectFault(`${idp.issuer}/interaction/1?hint=private`))
    const { lineOf, output } = await setup.run(idp)
    expect(lineOf(REDIRECTION)).to.match(
      /^warn: .*redirects the browser to http:\/\/127\.0\.0\.1:\d+\/interaction\/1, although/,
    )
    expect(output).not.to.contain('private')
    expect(idp.requests('interaction')).to.equal(0)
  })

  it('the live check skips the client secret if logins use no authorization code', async () => {
    const codeless = { response_types: ['id_token'] }
    const idp = await setup.start(codeless)
    const { lineOf } = await setup.run(idp, { client: codeless })
    expect(lineOf(SECRET)).to.equal('ok: secret or key: not needed: a login redeems no code')
    expect(lineOf(REDIRECTION)).to.match(/^ok: /)
    expect(idp.requests('token')).to.equal(0)
  })

  const redirectFault = (to: string): Fault => ({ kind: 'redirect', to })
  const answer = (status: number, body = '', headers = {}): Fault => ({ kind: 'answer', status, body, headers })
  const refusing = (status: number, error: string) => answer(status, JSON.stringify({ error }))

  /** Defines tests of one question. Each row is an IdP that is correct except for what the row changes. */
  function testQuestion(
    question: string,
    rows: readonly (readonly [what: string, line: RegExp, situation: Situation])[],
  ): void {
    // Shows: plugin 4.39, 8.5, 9.32, 9.33.
    for (const [condition, line, situation] of rows)
      it(`--live, ${question}: reports ${condition}`, async () => {
        const idp = await setup.start(situation.registered)
        if (situation.fault) idp.faults.set(...situation.fault)
        const { code, lineOf, output } = await setup.run(idp, situation)
        expect(lineOf(question)).to.match(line)
        expect(code).to.equal(lineOf(question).startsWith('fail') ? 1 : 0)
        expect(output).not.to.contain('\u001b').and.not.to.contain('\nok: all')
      })
  }
  const faulty = (...fault: NonNullable<Situation['fault']>): Situation => ({ fault })
  const listing = (metadata: Members) => faulty('discovery', publishing(metadata))

  testQuestion('discovery', [
    [
      'a status with its remedy',
      /^fail: .*Write the IdP's issuer in `issuer`.*status: 404/,
      faulty('discovery', answer(404)),
    ],
  ])
  testQuestion('key set', [
    ['a key set that cannot be fetched', /^fail: .*status: 403/, faulty('jwks', answer(403))],
    [
      'no key for ID tokens',
      /^fail: .*is for RS256\. Set `client\.id_token_signed_res/,
      faulty('jwks', { kind: 'rewrite', body: (keys) => without('RSA', keys) }),
    ],
  ])

  const noon = Date.UTC(2026, 0, 1, 12)
  const fixed = withHeaders((headers) => headers.set('date', new Date(noon).toUTCString()))
  const off = (ms: number): Situation => ({ live: { fetch: fixed, clock: new FakeClock(noon + 500 + ms) } })
  const timeless = withHeaders((headers) => headers.delete('date'))
  testQuestion('clock', [
    ['a difference of seconds', /^warn: clock: The clock of the IdP is 30 s behind this machine's\./, off(30_000)],
    [
      'a minute or more, with both times',
      /^fail: clock: The clock of the IdP is 3600 s ahead of this machine's\..*\[IdP: 2026-01-01T12:00:00Z, this machine: 2026-01-01T11:00:00Z\]$/,
      off(-3_600_000),
    ],
    [
      'whether this machine is ahead or behind',
      /^fail: clock: .* 3600 s behind .*this one is ahead.*\[IdP: 2026-01-01T12:00:00Z, this machine: 2026-01-01T13:00:00Z\]$/,
      off(3_600_000),
    ],
    ['an answer without a time', /^warn: /, { live: { fetch: timeless } }],
  ])

  const PS256 = { id_token_signing_alg_values_supported: ['PS256'] }
  testQuestion('algorithms', [
    ['an algorithm that is not published', /^fail: .*lacks RS256 \(client\.id_token_si/, listing(PS256)],
  ])
  const NO_CODE = { response_types_supported: ['id_token'] }
  testQuestion('response types', [
    ['a response type that is not published', /^fail: .*lacks code .* has id_token/, listing(NO_CODE)],
  ])

  const atAuthorization = (fault: Fault) => faulty('authorization', fault)
  const hostile = `${REDIRECT}?error=invalid_request&error_description=${encodeURIComponent('\u001b[2Jgone\nok: all')}`
  const issuerless = withHeaders((headers) => {
    const location = headers.get('location')
    if (location !== null) headers.set('location', location.replace(/[?&]iss=[^&]*/, ''))
  })
  testQuestion(REDIRECTION, [
    [
      'an unregistered address',
      /^fail: .*No answer came back: the IdP shows a page of its own.*Register exactly \S+, for the client mesh.*status: 400/,
      { registered: { redirect_uris: [`${REDIRECT}/`] } },
    ],
    [
      'a test address that must not be registered',
      /^fail: .*http:\/\/localhost:9\/back leads to the user's own machine\. Do not register it; set `client\.redirect_uri` to an address on https:\/\/127\.0\.0\.1:9,/,
      { client: { redirect_uri: 'http://localhost:9/back' } },
    ],
    ['an unknown client', /^fail: .*for the client nobody/, { client: { client_id: 'nobody' } }],
    [
      'a refused scope',
      /^fail: .*refused one of `scopes`.*error: invalid_scope/,
      { registered: { scope: 'openid profile' } },
    ],
    ['an answer in the fragment', /^ok: .*login_required$/, { client: { response_mode: 'fragment' } }],
    ['an answer in a form', /^ok: .*login_required$/, { client: { response_mode: 'form_post' } }],
    ['a signed answer', /^ok: .*login_required$/, { client: { response_mode: 'jwt' } }],
    [
      'an answer without its issuer',
      /^warn: .*Both are registered.*without the `iss`/,
      { live: { fetch: issuerless } },
    ],
    [
      'a refused pushed request',
      /^fail: .*invalid_client/,
      { client: { ...PUSHING, client_secret: 'another-secret' } },
    ],
    ['a page', /^warn: .*shows a page/, atAuthorization(answer(200, '<p>Sign in</p>'))],
    ['an error page', /^fail: .*oauth\/error/, atAuthorization(redirectFault('/oauth/error?a=b'))],
    ['an IdP that fails', /^fail: .*reports an internal error.*status: 502/, atAuthorization(answer(502))],
    ['no answer', /^fail: .*causeCode: ECONNRESET/, atAuthorization({ kind: 'reset' })],
    ['an endless answer', /^fail: .*ANSWER_TOO_LARGE/, atAuthorization({ kind: 'huge', bytes: 2_000_000 })],
    ['an error with control characters', /^fail: /, atAuthorization(redirectFault(hostile))],
  ])

  const BACK = 'post-logout address'
  const withoutLogout = { logouturl: 'https://idp.example.com/bye' }
  testQuestion(BACK, [
    [
      'an address that another IdP does not seem to know',
      /^warn: .*does not know https:\/\/127\.0\.0\.1:9\/login/,
      { registered: { post_logout_redirect_uris: [] } },
    ],
    [
      'an IdP that requires an ID token',
      /^ok: .*does not tell/,
      faulty('end_session', answer(400, 'post_logout_redirect_uri needs id_token_hint')),
    ],
    [
      'an IdP that refuses every stranger',
      /^ok: .*does not tell/,
      faulty('end_session', answer(400, 'Invalid redirect uri')),
    ],
    [
      'no address',
      /^ok: post-logout address: not checked: .* is false, so no such address is sent$/,
      { client: { post_logout_redirect_uri: false } },
    ],
    ['a sign-out that leads elsewhere', /^ok: .*`logouturl`$/, { oidc: withoutLogout }],
    ['no answer', /^warn: .*causeCode: ECONNRESET/, faulty('end_session', { kind: 'reset' })],
  ])

  describe('live check of the post-logout address at Keycloak', () => {
    /** Answers like Keycloak 26 without a login. */
    async function checkKeycloak(registered: string) {
      const server = await onLoopback(
        createServer((req, res) => {
          const query = new URL(req.url ?? '', 'http://here.test').searchParams
          const back = query.get('post_logout_redirect_uri')
          if (back === null) res.end('<p>Do you want to log out?</p>')
          else if (back === registered) res.writeHead(302, { location: `${back}?state=${query.get('state')}` }).end()
          else res.writeHead(400).end('<p>Invalid redirect uri</p>')
        }),
      )
      try {
        const idp = await setup.start()
        const end_session_endpoint = `${server.url}/realms/mesh/protocol/openid-connect/logout`
        const { code, lineOf } = await setup.run(idp, {
          oidc: { issuer: { issuer: idp.issuer, end_session_endpoint } },
        })
        return [code, lineOf(BACK)] as const
      } finally {
        await server.close()
      }
    }

    // Shows: plugin 9.33.
    it('the live check passes if Keycloak redirects to the post-logout address', async () => {
      const [code, line] = await checkKeycloak('https://127.0.0.1:9/login')
      expect({ code, line }).to.deep.equal({
        code: 0,
        line: 'ok: post-logout address: registered: a sign-out returns to https://127.0.0.1:9/login',
      })
    })

    // Shows: plugin 9.33.
    it('the live check fails if Keycloak does not redirect to the post-logout address', async () => {
      const [code, line] = await checkKeycloak('https://elsewhere.example/login')
      expect(code).to.equal(1)
      expect(line).to.match(
        /^fail: .*Register exactly this post-logout address.*Valid post logout redirect URIs.*status: 400/,
      )
    })
  })

  const fromToken = (fault: Fault, times?: number) => faulty('token', fault, times)
  const byKey = (key: ClientKeyPair): Situation => {
    const client = { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256' }
    return { client, registered: { ...client, client_secret: undefined, jwks: { keys: [key.public] } } }
  }
  const page = answer(200, '<p>', { 'content-type': 'text/html' })
  testQuestion(SECRET, [
    [
      'another secret',
      /^fail: .*does not accept this server as its client.*error: invalid_client/,
      { client: { client_secret: 'another-secret' } },
    ],
    ['a key that the IdP knows', /^ok: .*accepted with private_key_jwt/, byKey(KEY)],
    ['another key', /^fail: .*or the keys\).*error: invalid_client/, byKey(makeKey('P-256', { kid: 'two' }))],
    ['unauthorized_client', /^fail: .*does not accept this/, fromToken(refusing(401, 'unauthorized_client'))],
    ['a proxy instead of the IdP', /^fail: /, fromToken(page)],
    ['no answer', /^fail: .*ECONNRESET/, fromToken({ kind: 'reset' })],
    [
      'an answer that reveals nothing',
      /^warn: .*the check cannot tell whether/,
      fromToken(refusing(400, 'invalid_request')),
    ],
    ['an objection to the code', /^warn: .*checks the code before/, fromToken(refusing(400, 'invalid_grant'))],
    ["Glewlwyd's error for an unknown code", /^ok: /, fromToken(refusing(403, 'invalid_code'), 1)],
  ])
})

/** Returns a `fetch` that changes the headers of answers. */
function withHeaders(change: (headers: Headers) => void): NonNullable<LiveOptions['fetch']> {
  return async (url, init) => {
    const response = await fetch(url, init as RequestInit)
    const headers = new Headers(response.headers)
    change(headers)
    return new Response(await response.text(), { status: response.status, headers })
  }
}

function without(kind: string, body: unknown): unknown {
  const { keys } = body as { readonly keys: readonly { readonly kty: string }[] }
  return { keys: keys.filter(({ kty }) => kty !== kind) }
}
