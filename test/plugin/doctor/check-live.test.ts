import { createServer } from 'node:http'
import { expect } from 'chai'
import { makeCertificates } from '../../../fixtures/certificate.ts'
import type { Endpoint, Fault } from '../../../fixtures/idp/faults.ts'
import { type Idp, type IdpOptions, startIdp } from '../../../fixtures/idp/server.ts'
import { checkToTheEnd } from '../../../plugin/doctor/check.ts'
import type { LiveOptions } from '../../../plugin/doctor/check-live.ts'
import { type ClientKeyPair, makeKey } from '../../support/client-keys.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { onLoopback } from '../../support/on-loopback.ts'
import { CLIENT } from '../../support/sign-in-setup.ts'

const REDIRECT = 'http://127.0.0.1:9/auth-oidc-callback'
const REDIRECTION = 'client and redirect address'
const SECRET = 'secret or key'
const PUSHING = { require_pushed_authorization_requests: true }
const KEY = makeKey('P-256', { kid: 'one', alg: 'ES256' })
type Members = Readonly<Record<string, unknown>>

describe('mesh-companion-check --live', () => {
  let open: Idp[]
  beforeEach(() => {
    open = []
  })
  afterEach(async () => {
    for (const idp of open) await idp.close()
  })

  async function start(registered: Members = {}, options: IdpOptions = {}): Promise<Idp> {
    const idp = await startIdp(options)
    open.push(idp)
    const back = ['https://127.0.0.1:9/login']
    await idp.addClient({ ...CLIENT, redirect_uris: [REDIRECT], post_logout_redirect_uris: back, ...registered })
    return idp
  }

  interface Asked {
    /** How the IdP knows the client, where it differs. */
    readonly registered?: Members
    readonly fault?: readonly [Endpoint, Fault, times?: number]
    readonly oidc?: Members
    readonly client?: Members
    readonly live?: LiveOptions
  }
  /** Runs the command in this process; the lines below the first two, without their margin. */
  async function ask(idp: Idp, { oidc = {}, client = {}, live }: Asked = {}, ...args: string[]) {
    const strategy = { issuer: idp.issuer, ...oidc, client: { ...CLIENT, redirect_uri: REDIRECT, ...client } }
    const byKey = client.token_endpoint_auth_method === 'private_key_jwt'
    const domain = byKey ? { oidcCredentials: { jwksFile: 'keys.json' } } : {}
    const text = JSON.stringify({
      settings: { cert: '127.0.0.1', port: 9 },
      domains: { '': { authStrategies: { oidc: strategy }, ...domain } },
    })
    let out = ''
    const write = (part: string) => {
      out += part
    }
    const terminal = {
      list: () => [],
      read: (file: string) => (file === 'keys.json' ? JSON.stringify({ keys: [KEY.private] }) : text),
      out: write,
      err: write,
      create: () => undefined,
    }
    const code = await checkToTheEnd(['config.json', '--live', ...args], terminal, live)
    expect(out).not.to.contain(CLIENT.client_secret)
    const [, below = ''] = out.split('live:\n')
    const lines = below.split('\n').flatMap((line) => (line === '' ? [] : [line.trim()]))
    const of = (question: string) => lines.filter((line) => line.split(': ')[1] === question).join('\n')
    return { code, out, lines, of }
  }

  const publishing = (metadata: Members): Fault => ({
    kind: 'rewrite',
    body: (original) => ({ ...(original as object), ...metadata }),
  })

  // Shows: plugin 9.32.
  it('asks everything that a login depends on, and says that all is well', async () => {
    const idp = await start()
    const { code, out, lines } = await ask(idp)
    expect(out).to.match(/^domain "": no errors, no warnings\n(?:.*\n)+domain "", live:\n/)
    expect(lines).to.deep.equal([
      `ok: discovery: status 200, plain HTTP on loopback, issuer ${idp.issuer}`,
      'ok: key set: 3 keys, at least one for RS256',
      'ok: clock: equal to the clock of this machine within 5 s',
      'ok: algorithms: published as configured',
      'ok: client authentication: published as configured',
      'ok: scopes: published as configured',
      'ok: response types: published as configured',
      'ok: PKCE: published as configured',
      `ok: client and redirect address: both are registered: the answer came to ${REDIRECT}, with login_required`,
      'ok: secret or key: accepted with client_secret_basic: the IdP objects to the made-up code only',
      'ok: UserInfo: refuses a made-up token (status 401)',
      'ok: post-logout address: unknown: this IdP does not tell without a signed-in user',
      // This server itself need not run.
      "warn: files of this server: Not checked: http://127.0.0.1:9 cannot be reached from this machine [causeCode: ECONNREFUSED]. Check again while it runs, on a machine that knows its name and trusts its certificate (MeshCentral's own: NODE_EXTRA_CA_CERTS=…/root-cert-public.crt).",
    ])
    expect(code).to.equal(0)
  })

  it('asks where MeshCentral serves the domain, too', async () => {
    const { lines } = await ask(await start(), {}, '--meshcentral')
    expect(lines.filter((line) => !/^ok: |: files of this server: /.test(line))).to.deep.equal([])
  })

  // Shows: plugin 10.15.
  it('warns if UserInfo is unreachable or does not refuse a made-up token', async () => {
    for (const [fault, oidc, line] of [
      [{ kind: 'answer', status: 404 }, {}, /^warn: UserInfo: .* \[status: 404\]$/],
      [{ kind: 'redirect', to: 'https://login.test/' }, {}, /^warn: UserInfo: .* \[status: 302\]$/],
      [{ kind: 'answer', status: 200, body: '{}' }, {}, /^warn: UserInfo: .* \[status: 200\]$/],
      [{ kind: 'reset' }, {}, /^warn: UserInfo: .*ECONNRESET.*issuer\.userinfo_endpoint/],
      [{ kind: 'answer', status: 403 }, {}, /^ok: UserInfo: refuses a made-up token/],
      [{ kind: 'answer', status: 404 }, { userinfo_endpoint: false }, /^ok: UserInfo: switched off/],
    ] as const) {
      const idp = await start()
      idp.faults.set('userinfo', fault)
      const { code, of } = await ask(idp, { oidc: { issuer: { issuer: idp.issuer, ...oidc } } })
      expect(of('UserInfo')).to.match(line)
      expect(code).to.equal(0)
    }
  })

  describe('about files of this server', () => {
    const about = 'files of this server'
    /** A server whose login page has a file, as a cache in front of it answers. */
    async function askBehindCache(markup: string, cookie?: string, keys = 'application/json') {
      const asked: string[] = []
      const server = await onLoopback(
        createServer((req, res) => {
          asked.push(req.url ?? '')
          if (req.url === '/sub/login') res.end(markup)
          else if (req.url === '/sub/auth-oidc-jwks') res.writeHead(404, { 'content-type': keys }).end()
          else res.writeHead(200, cookie === undefined ? {} : { 'set-cookie': cookie }).end('a file')
        }),
      )
      const redirect = `${server.url}/sub/auth-oidc-callback`
      try {
        const idp = await start({ redirect_uris: [redirect] })
        const { code, of } = await ask(idp, { client: { redirect_uri: redirect } })
        return { code, line: of(about), asked }
      } finally {
        await server.close()
      }
    }
    const MARKUP = `<link href="styles/a.css?v=1"><script src='/b.js'></script><img src=https://elsewhere.test/c.png><a href="page">`

    // Shows: plugin 9.32.
    it('fails where one comes with a cookie, which is named without its value', async () => {
      const { code, line } = await askBehindCache(MARKUP, 'xid=secret; path=/')
      expect(code).to.equal(1)
      expect(line)
        .to.match(/^fail: .*\/sub\/styles\/a\.css comes with a cookie \(xid\)\. /)
        .and.not.include('secret')
    })

    it('warns of a server that was not started with the plugin yet, whose files come with cookies', async () => {
      const { code, line } = await askBehindCache(MARKUP, 'xid=secret; path=/', 'text/html')
      expect(code).to.equal(0)
      expect(line).to.match(
        /^warn: .*Not checked: the server at http.* runs without the plugin\. .*`settings\.plugins\.list`/,
      )
    })

    it('is well where none does, and where there is none; files of others are not asked for', async () => {
      const { code, line, asked } = await askBehindCache(MARKUP)
      expect([code, line]).to.deep.equal([
        0,
        `ok: ${about}: no cookie comes with the files of the login page (2 checked)`,
      ])
      expect(asked).to.deep.equal(['/sub/login', '/sub/styles/a.css?v=1', '/b.js'])
      expect((await askBehindCache('<p>', 'xid=1')).line).to.match(/^ok: .*: none on /)
    })
  })

  it('asks nobody without --live, and nobody about a domain with errors', async () => {
    const idp = await start()
    const { code, out } = await ask(idp, { oidc: { newAccounts: 1 } })
    expect(code).to.equal(1)
    expect(out).to.contain('domain "", live: not asked before the errors are corrected\n')
    expect(idp.requests('discovery')).to.equal(0)
  })

  it('asks an IdP that is another one nothing more', async () => {
    const idp = await start()
    idp.faults.set('discovery', publishing({ issuer: 'https://other.example' }))
    expect((await ask(idp)).of('discovery')).to.match(/^fail: .*publishedIssuer: https:\/\/other\.example/)
    expect(idp.requests('token') + idp.requests('authorization')).to.equal(0)
  })

  it('fails where nothing listens, and where the certificate leads to nobody that is trusted', async () => {
    const idp = await start()
    await idp.down()
    expect((await ask(idp)).of('discovery')).to.match(/^fail: .*Nothing listens .*ECONNREFUSED/)
    const { server } = await makeCertificates()
    const secured = await start({}, { tls: server })
    expect((await ask(secured)).of('discovery')).to.match(/^fail: .*NODE_EXTRA_CA_CERTS.*causeCode: [A-Z_]+/)
  })

  it('warns where discovery fails and all endpoints are set by hand, and asks those', async () => {
    const idp = await start()
    idp.faults.set('discovery', { kind: 'answer', status: 500 })
    const issuer = {
      issuer: idp.issuer,
      authorization_endpoint: `${idp.issuer}/auth`,
      token_endpoint: `${idp.issuer}/token`,
      jwks_uri: `${idp.issuer}/jwks`,
    }
    const { code, lines, of } = await ask(idp, { oidc: { issuer } })
    expect(of('discovery')).to.match(/^warn: discovery: The endpoints in `issuer` are used\. /)
    expect(of('PKCE')).to.equal('ok: PKCE: the IdP publishes nothing about it')
    expect(lines.filter((line) => line.startsWith('ok: '))).to.have.length(11)
    expect(code).to.equal(0)
  })

  it('warns of a method, a scope, a mode or PKCE that is not published: the lists may be incomplete', async () => {
    const published = {
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
      scopes_supported: ['openid'],
      response_modes_supported: ['fragment'],
      code_challenge_methods_supported: ['plain'],
    }
    const idp = await start()
    idp.faults.set('discovery', publishing(published))
    const { code, of } = await ask(idp, { client: { response_mode: 'query' } })
    expect(of('client authentication')).to.match(/^warn: .*lacks client_secret_basic/)
    expect(of('scopes')).to.match(/^warn: .*lacks profile \(custom\.scope\)/)
    expect(of('response types')).to.match(/^warn: .*lacks query \(client\.response_mode\)/)
    expect(of('PKCE')).to.match(/^warn: .*lacks S256/)
    expect(code).to.equal(0)
  })

  it('asks by a pushed request where the client pushes', async () => {
    const idp = await start()
    expect((await ask(idp, { client: PUSHING })).of(REDIRECTION)).to.match(/^ok: /)
    expect(idp.requests('pushed_authorization_request')).to.equal(1)
  })

  it('warns of a page that may be the login page, and does not follow it', async () => {
    const idp = await start()
    idp.faults.set('authorization', redirect(`${idp.issuer}/interaction/1?hint=private`))
    const { of, out } = await ask(idp)
    expect(of(REDIRECTION)).to.match(
      /^warn: .*redirects the browser to http:\/\/127\.0\.0\.1:\d+\/interaction\/1, although/,
    )
    expect(out).not.to.contain('private')
    expect(idp.requests('interaction')).to.equal(0)
  })

  it('has no secret to ask about where a login redeems no code', async () => {
    const codeless = { response_types: ['id_token'] }
    const idp = await start(codeless)
    const { of } = await ask(idp, { client: codeless })
    expect(of(SECRET)).to.equal('ok: secret or key: not needed: a login redeems no code')
    expect(of(REDIRECTION)).to.match(/^ok: /)
    expect(idp.requests('token')).to.equal(0)
  })

  const redirect = (to: string): Fault => ({ kind: 'redirect', to })
  const answer = (status: number, body = '', headers = {}): Fault => ({ kind: 'answer', status, body, headers })
  const refusing = (status: number, error: string) => answer(status, JSON.stringify({ error }))

  /** What is said of one question, a line a case: an IdP that is fine but for what is told of it. */
  function tells(about: string, rows: readonly (readonly [what: string, line: RegExp, asked: Asked])[]): void {
    // Shows: plugin 4.39, 8.5, 9.32, 9.33.
    for (const [what, line, asked] of rows)
      it(`tells about ${about}: ${what}`, async () => {
        const idp = await start(asked.registered)
        if (asked.fault) idp.faults.set(...asked.fault)
        const { code, of, out } = await ask(idp, asked)
        expect(of(about)).to.match(line)
        expect(code).to.equal(of(about).startsWith('fail') ? 1 : 0)
        expect(out).not.to.contain('\u001b').and.not.to.contain('\nok: all')
      })
  }
  const faulty = (...fault: NonNullable<Asked['fault']>): Asked => ({ fault })
  const listing = (metadata: Members) => faulty('discovery', publishing(metadata))

  tells('discovery', [
    [
      'the status and what mends it',
      /^fail: .*Write the IdP's issuer in `issuer`.*status: 404/,
      faulty('discovery', answer(404)),
    ],
  ])
  tells('key set', [
    ['one that cannot be had', /^fail: .*status: 403/, faulty('jwks', answer(403))],
    [
      'no key for ID tokens',
      /^fail: .*is for RS256\. Set `client\.id_token_signed_res/,
      faulty('jwks', { kind: 'rewrite', body: (keys) => without('RSA', keys) }),
    ],
  ])

  const noon = Date.UTC(2026, 0, 1, 12)
  const fixed = withHeaders((headers) => headers.set('date', new Date(noon).toUTCString()))
  const off = (ms: number): Asked => ({ live: { fetch: fixed, clock: new FakeClock(noon + 500 + ms) } })
  const timeless = withHeaders((headers) => headers.delete('date'))
  tells('clock', [
    ['seconds', /^warn: clock: The clock of the IdP is 30 s behind this machine's\./, off(30_000)],
    [
      'a minute or more, with both times',
      /^fail: clock: The clock of the IdP is 3600 s ahead of this machine's\..*\[IdP: 2026-01-01T12:00:00Z, this machine: 2026-01-01T11:00:00Z\]$/,
      off(-3_600_000),
    ],
    [
      'the side that this machine is on',
      /^fail: clock: .* 3600 s behind .*this one is ahead.*\[IdP: 2026-01-01T12:00:00Z, this machine: 2026-01-01T13:00:00Z\]$/,
      off(3_600_000),
    ],
    ['no time in an answer', /^warn: /, { live: { fetch: timeless } }],
  ])

  const PS256 = { id_token_signing_alg_values_supported: ['PS256'] }
  tells('algorithms', [['one that is not listed', /^fail: .*lacks RS256 \(client\.id_token_si/, listing(PS256)]])
  const NO_CODE = { response_types_supported: ['id_token'] }
  tells('response types', [['one that is not listed', /^fail: .*lacks code .* has id_token/, listing(NO_CODE)]])

  const at = (fault: Fault) => faulty('authorization', fault)
  const hostile = `${REDIRECT}?error=invalid_request&error_description=${encodeURIComponent('\u001b[2Jgone\nok: all')}`
  const issuerless = withHeaders((headers) => {
    const location = headers.get('location')
    if (location !== null) headers.set('location', location.replace(/[?&]iss=[^&]*/, ''))
  })
  tells(REDIRECTION, [
    [
      'an address that is not registered, with what to register',
      /^fail: .*No answer came back: the IdP shows a page of its own.*Register exactly \S+, for the client mesh.*status: 400/,
      { registered: { redirect_uris: [`${REDIRECT}/`] } },
    ],
    [
      'an address of a test, which is not to be registered',
      /^fail: .*http:\/\/localhost:9\/back leads to the user's own machine\. Do not register it; set `client\.redirect_uri` to an address on https:\/\/127\.0\.0\.1:9,/,
      { client: { redirect_uri: 'http://localhost:9/back' } },
    ],
    ['a client that is not there', /^fail: .*for the client nobody/, { client: { client_id: 'nobody' } }],
    [
      'an objection',
      /^fail: .*refused one of `scopes`.*error: invalid_scope/,
      { registered: { scope: 'openid profile' } },
    ],
    ['an answer in the fragment', /^ok: .*login_required$/, { client: { response_mode: 'fragment' } }],
    ['an answer in a form', /^ok: .*login_required$/, { client: { response_mode: 'form_post' } }],
    ['a signed answer', /^ok: .*login_required$/, { client: { response_mode: 'jwt' } }],
    ['one without its issuer', /^warn: .*Both are registered.*without the `iss`/, { live: { fetch: issuerless } }],
    ['a push that is refused', /^fail: .*invalid_client/, { client: { ...PUSHING, client_secret: 'another-secret' } }],
    ['a page', /^warn: .*shows a page/, at(answer(200, '<p>Sign in</p>'))],
    ['a page for errors', /^fail: .*oauth\/error/, at(redirect('/oauth/error?a=b'))],
    ['an IdP that fails', /^fail: .*reports an internal error.*status: 502/, at(answer(502))],
    ['no answer', /^fail: .*causeCode: ECONNRESET/, at({ kind: 'reset' })],
    ['no end of an answer', /^fail: .*ANSWER_TOO_LARGE/, at({ kind: 'huge', bytes: 2_000_000 })],
    ['an error with control characters', /^fail: /, at(redirect(hostile))],
  ])

  const BACK = 'post-logout address'
  const withoutLogout = { logouturl: 'https://idp.example.com/bye' }
  tells(BACK, [
    [
      'an address that another IdP seems not to know',
      /^warn: .*does not know https:\/\/127\.0\.0\.1:9\/login/,
      { registered: { post_logout_redirect_uris: [] } },
    ],
    [
      'an IdP that wants an ID token first',
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
      /^ok: post-logout address: no such address is sent$/,
      { client: { post_logout_redirect_uri: false } },
    ],
    ['a sign-out that leads elsewhere', /^ok: .*`logouturl`$/, { oidc: withoutLogout }],
    ['no answer', /^warn: .*causeCode: ECONNRESET/, faulty('end_session', { kind: 'reset' })],
  ])

  describe('about the post-logout address of Keycloak', () => {
    /** Answers as Keycloak 26 does to somebody who is not signed in. */
    async function askKeycloak(known: string) {
      const server = await onLoopback(
        createServer((req, res) => {
          const query = new URL(req.url ?? '', 'http://here.test').searchParams
          const back = query.get('post_logout_redirect_uri')
          if (back === null) res.end('<p>Do you want to log out?</p>')
          else if (back === known) res.writeHead(302, { location: `${back}?state=${query.get('state')}` }).end()
          else res.writeHead(400).end('<p>Invalid redirect uri</p>')
        }),
      )
      try {
        const idp = await start()
        const end_session_endpoint = `${server.url}/realms/mesh/protocol/openid-connect/logout`
        const { code, of } = await ask(idp, { oidc: { issuer: { issuer: idp.issuer, end_session_endpoint } } })
        return [code, of(BACK)] as const
      } finally {
        await server.close()
      }
    }

    // Shows: plugin 9.33.
    it('says that it is registered where Keycloak redirects there', async () => {
      const [code, line] = await askKeycloak('https://127.0.0.1:9/login')
      expect([code, line]).to.deep.equal([
        0,
        'ok: post-logout address: registered: a sign-out returns to https://127.0.0.1:9/login',
      ])
    })

    // Shows: plugin 9.33.
    it('fails where Keycloak answers with its own page, and says what to register', async () => {
      const [code, line] = await askKeycloak('https://elsewhere.example/login')
      expect(code).to.equal(1)
      expect(line).to.match(
        /^fail: .*Register exactly this post-logout address.*Valid post logout redirect URIs.*status: 400/,
      )
    })
  })

  const from = (fault: Fault, times?: number) => faulty('token', fault, times)
  const byKey = (key: ClientKeyPair): Asked => {
    const client = { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256' }
    return { client, registered: { ...client, client_secret: undefined, jwks: { keys: [key.public] } } }
  }
  const page = answer(200, '<p>', { 'content-type': 'text/html' })
  tells(SECRET, [
    [
      'another secret',
      /^fail: .*does not accept this server as its client.*error: invalid_client/,
      { client: { client_secret: 'another-secret' } },
    ],
    ['a key that the IdP knows', /^ok: .*accepted with private_key_jwt/, byKey(KEY)],
    ['another key', /^fail: .*or the keys\).*error: invalid_client/, byKey(makeKey('P-256', { kid: 'two' }))],
    ['unauthorized_client', /^fail: .*does not accept this/, from(refusing(401, 'unauthorized_client'))],
    ['a proxy in place of the IdP', /^fail: /, from(page)],
    ['nobody who answers', /^fail: .*ECONNRESET/, from({ kind: 'reset' })],
    ['an answer that does not tell', /^warn: .*it is unknown whether/, from(refusing(400, 'invalid_request'))],
    ['an objection to the code', /^warn: .*checks the code before/, from(refusing(400, 'invalid_grant'))],
    ["Glewlwyd's word for a code that it does not know", /^ok: /, from(refusing(403, 'invalid_code'), 1)],
  ])
})

/** Requests whose answers have other headers. */
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
