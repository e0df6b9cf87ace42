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
    await idp.addClient({ ...CLIENT, redirect_uris: [REDIRECT], ...registered })
    return idp
  }

  /** Runs the command in this process; the lines below the first two, without their margin. */
  async function ask(idp: Idp, oidc: Members = {}, client: Members = {}, live?: LiveOptions, ...args: string[]) {
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
    }
    const code = await checkToTheEnd(['config.json', '--live', ...args], terminal, live)
    expect(out).not.to.contain(CLIENT.client_secret)
    const [, below = ''] = out.split('live:\n')
    const lines = below.split('\n').flatMap((line) => (line === '' ? [] : [line.trim()]))
    const of = (question: string) => lines.filter((line) => line.split(': ')[1] === question).join('\n')
    return { code, out, lines, of }
  }

  const broken = async (endpoint: Endpoint, fault: Fault) => {
    const idp = await start()
    idp.faults.set(endpoint, fault)
    return ask(idp)
  }
  const publishing = (metadata: Members): Fault => ({
    kind: 'rewrite',
    body: (original) => ({ ...(original as object), ...metadata }),
  })

  it('asks everything that a login depends on, and says that all is well', async () => {
    const idp = await start()
    const { code, out, lines } = await ask(idp)
    expect(out).to.match(/^domain "": no errors, no warnings\n(?:.*\n)+domain "", live:\n/)
    expect(lines).to.deep.equal([
      `ok: discovery: status 200, plain HTTP on loopback, issuer ${idp.issuer}`,
      'ok: key set: 3 keys, for RS256 too',
      'ok: clock: as this machine has it, within 5 s',
      'ok: algorithms: published as configured',
      'ok: client authentication: published as configured',
      'ok: scopes: published as configured',
      'ok: response types: published as configured',
      'ok: PKCE: published as configured',
      `ok: client and redirect address: both are registered: the answer came to ${REDIRECT}, with login_required`,
      'ok: secret or key: accepted by client_secret_basic: the IdP objects to the made-up code alone',
      // This server itself need not run.
      "warn: files of this server: Not asked: http://127.0.0.1:9 cannot be reached from here [causeCode: ECONNREFUSED]. Ask again once it serves, where its name is known and its certificate trusted (MeshCentral's own: NODE_EXTRA_CA_CERTS=…/root-cert-public.crt).",
    ])
    expect(code).to.equal(0)
  })

  it('asks where MeshCentral serves the domain, too', async () => {
    const { code, lines } = await ask(await start(), {}, {}, undefined, '--meshcentral')
    expect(code).to.equal(0)
    expect(lines.filter((line) => !/^ok: |: files of this server: /.test(line))).to.deep.equal([])
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
        const { code, of } = await ask(idp, {}, { redirect_uri: redirect })
        return { code, line: of(about), asked }
      } finally {
        await server.close()
      }
    }
    const MARKUP = `<link href="styles/a.css?v=1"><script src='/b.js'></script><img src=https://elsewhere.test/c.png><a href="page">`

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
      expect(line).to.match(/^warn: .*Not asked: http.* serves without the plugin\. .*`settings\.plugins\.list`/)
    })

    it('is well where none does, and where there is none; files of others are not asked for', async () => {
      const { code, line, asked } = await askBehindCache(MARKUP)
      expect([code, line]).to.deep.equal([0, `ok: ${about}: no cookie comes with 2 of the login page`])
      expect(asked).to.deep.equal(['/sub/login', '/sub/styles/a.css?v=1', '/b.js'])
      expect((await askBehindCache('<p>', 'xid=1')).line).to.match(/^ok: .*: none on /)
    })
  })

  it('asks nobody without --live, and nobody about a domain with errors', async () => {
    const idp = await start()
    const { code, out } = await ask(idp, { newAccounts: 1 })
    expect(code).to.equal(1)
    expect(out).to.contain('domain "", live: asked once the errors are mended\n')
    expect(idp.requests('discovery')).to.equal(0)
  })

  describe('about discovery', () => {
    it('fails where the IdP is another one, and asks that one nothing more', async () => {
      const idp = await start()
      idp.faults.set('discovery', publishing({ issuer: 'https://other.example' }))
      const { of } = await ask(idp)
      expect(of('discovery')).to.match(/^fail: .*publishedIssuer: https:\/\/other\.example/)
      expect(idp.requests('token') + idp.requests('authorization')).to.equal(0)
    })

    it('warns of an issuer that is not written to the letter', async () => {
      const idp = await start()
      const { code, of } = await ask(idp, { issuer: `${idp.issuer}/` })
      expect(of('discovery')).to.contain(`warn: discovery: The IdP calls itself ${idp.issuer}, to the letter`)
      expect(code).to.equal(0)
    })

    it('fails where nothing listens, and where the certificate leads to nobody that is trusted', async () => {
      const idp = await start()
      await idp.down()
      expect((await ask(idp)).of('discovery')).to.match(/^fail: .*Nothing listens .*ECONNREFUSED/)
      const { server } = await makeCertificates()
      const secured = await start({}, { tls: server })
      expect((await ask(secured)).of('discovery')).to.match(/^fail: .*NODE_EXTRA_CA_CERTS.*causeCode: [A-Z_]+/)
    })

    it('warns where it fails and all endpoints are set by hand, and asks those', async () => {
      const idp = await start()
      idp.faults.set('discovery', { kind: 'answer', status: 500 })
      const issuer = {
        issuer: idp.issuer,
        authorization_endpoint: `${idp.issuer}/auth`,
        token_endpoint: `${idp.issuer}/token`,
        jwks_uri: `${idp.issuer}/jwks`,
      }
      const { code, lines, of } = await ask(idp, { issuer })
      expect(of('discovery')).to.match(/^warn: discovery: The endpoints in `issuer` are used\. /)
      expect(of('PKCE')).to.equal('ok: PKCE: the IdP publishes nothing about it')
      expect(lines.filter((line) => line.startsWith('ok: '))).to.have.length(9)
      expect(code).to.equal(0)
    })
  })

  describe('about the clock', () => {
    it('warns of seconds, and fails of a minute or more, with who is ahead', async () => {
      const idp = await start()
      const at = Date.UTC(2026, 0, 1)
      const fixed = withHeaders((headers) => headers.set('date', new Date(at).toUTCString()))
      const off = async (ms: number) =>
        (await ask(idp, {}, {}, { fetch: fixed, clock: new FakeClock(at + 500 + ms) })).of('clock')
      expect(await off(30_000)).to.match(/^warn: clock: The clock of the IdP is 30 s behind this machine's\./)
      expect(await off(-3_600_000)).to.match(/^fail: clock: The clock of the IdP is 3600 s ahead of this machine's\./)
    })

    it('warns where no answer has the time', async () => {
      const fetch = withHeaders((headers) => headers.delete('date'))
      expect((await ask(await start(), {}, {}, { fetch })).of('clock')).to.match(/^warn: /)
    })
  })

  describe('about what is published', () => {
    it('warns of a method, a scope, a mode or PKCE, whose lists may be incomplete', async () => {
      const published = {
        token_endpoint_auth_methods_supported: ['private_key_jwt'],
        scopes_supported: ['openid'],
        response_modes_supported: ['fragment'],
        code_challenge_methods_supported: ['plain'],
      }
      const idp = await start()
      idp.faults.set('discovery', publishing(published))
      const { code, of } = await ask(idp, {}, { response_mode: 'query' })
      expect(of('client authentication')).to.match(/^warn: .*lacks client_secret_basic/)
      expect(of('scopes')).to.match(/^warn: .*lacks profile \(custom\.scope\)/)
      expect(of('response types')).to.match(/^warn: .*lacks query \(client\.response_mode\)/)
      expect(of('PKCE')).to.match(/^warn: .*lacks S256/)
      expect(code).to.equal(0)
    })
  })

  describe('about client and redirect address', () => {
    const about = 'client and redirect address'

    it('fails where the redirect address is not registered, or the client is not there', async () => {
      const idp = await start({ redirect_uris: [`${REDIRECT}/`] })
      const { code, of } = await ask(idp)
      expect(of(about)).to.match(/^fail: .*Nothing comes back: the IdP answers with a page of its own.*status: 400/)
      expect(of(about)).to.contain(`Register ${REDIRECT}, to the letter, for the client mesh`)
      expect(code).to.equal(1)
      expect((await ask(idp, {}, { client_id: 'nobody' })).of(about)).to.match(/^fail: .*for the client nobody/)
    })

    it('fails where the answer is an objection to the request', async () => {
      const { of } = await ask(await start({ scope: 'openid profile' }))
      expect(of(about)).to.match(/^fail: .*refused a scope.*error: invalid_scope/)
    })

    it('takes answers in the fragment, in a form and signed ones for what they are', async () => {
      for (const response_mode of ['fragment', 'form_post', 'jwt']) {
        const { of } = await ask(await start(), {}, { response_mode })
        expect(of(about), response_mode).to.match(/^ok: .*login_required$/)
      }
    })

    it('warns of an error without the issuer that the IdP publishes with its answers', async () => {
      const idp = await start()
      const issuerless = withHeaders((headers) => {
        const location = headers.get('location')
        if (location !== null) headers.set('location', location.replace(/[?&]iss=[^&]*/, ''))
      })
      const { code, of } = await ask(idp, {}, {}, { fetch: issuerless })
      expect(of(about)).to.match(/^warn: .*Both are registered.*comes without the `iss`/)
      expect(code).to.equal(0)
    })

    it('asks by a pushed request where the client pushes, and fails where that is refused', async () => {
      const pushing = { require_pushed_authorization_requests: true }
      const idp = await start()
      expect((await ask(idp, {}, pushing)).of(about)).to.match(/^ok: /)
      expect(idp.requests('pushed_authorization_request')).to.equal(1)
      const wrong = await ask(idp, {}, { ...pushing, client_secret: 'another-secret' })
      expect(wrong.of(about)).to.match(/^fail: .*invalid_client/)
    })

    it('warns of a page that may be the login page, and does not follow it', async () => {
      const login = await start()
      login.faults.set('authorization', { kind: 'redirect', to: `${login.issuer}/interaction/1?hint=private` })
      const page = await ask(login)
      expect(page.of(about)).to.match(/^warn: .*sends the browser to http:\/\/127\.0\.0\.1:\d+\/interaction\/1 though/)
      expect(page.out).not.to.contain('private')
      expect(login.requests('interaction')).to.equal(0)
    })
  })

  const answer = (status: number, body = '', headers = {}): Fault => ({ kind: 'answer', status, body, headers })
  const refusing = (status: number, error: string) => answer(status, JSON.stringify({ error }))
  const redirect = (to: string): Fault => ({ kind: 'redirect', to })
  const HTML = { 'content-type': 'text/html' }
  const HOSTILE = `${REDIRECT}?error=invalid_request&error_description=${encodeURIComponent('\u001b[2Jgone\nok: all')}`
  const NO_RSA: Fault = { kind: 'rewrite', body: (keys) => without('RSA', keys) }
  const PS256 = publishing({ id_token_signing_alg_values_supported: ['PS256'] })
  const NO_CODE = publishing({ response_types_supported: ['id_token'] })
  const HUGE: Fault = { kind: 'huge', bytes: 2_000_000 }
  const REDIRECTION = 'client and redirect address'
  const SECRET = 'secret or key'
  for (const [what, endpoint, fault, about, line] of [
    ['the status and what mends it', 'discovery', answer(404), 'discovery', /^fail: .*Write in `issuer`.*status: 404/],
    ['a key set that cannot be had', 'jwks', answer(403), 'key set', /^fail: .*status: 403/],
    ['no key for ID tokens', 'jwks', NO_RSA, 'key set', /^fail: .*is for RS256: set `client\.id_token_signed_res/],
    ['an algorithm that is not listed', 'discovery', PS256, 'algorithms', /^fail: .*lacks RS256 \(client\.id_token_si/],
    [
      'a response type that is not listed',
      'discovery',
      NO_CODE,
      'response types',
      /^fail: .*lacks code .* has id_token/,
    ],
    ['a page', 'authorization', answer(200, '<p>Sign in</p>'), REDIRECTION, /^warn: .*shows a page/],
    ['a page for errors', 'authorization', redirect('/oauth/error?a=b'), REDIRECTION, /^fail: .*oauth\/error/],
    ['an IdP that fails', 'authorization', answer(502), REDIRECTION, /^fail: .*failed in itself.*status: 502/],
    ['no answer', 'authorization', { kind: 'reset' }, REDIRECTION, /^fail: .*causeCode: ECONNRESET/],
    ['no end of an answer', 'authorization', HUGE, REDIRECTION, /^fail: .*ANSWER_TOO_LARGE/],
    ['an error with control characters', 'authorization', redirect(HOSTILE), REDIRECTION, /^fail: /],
    [
      '401 and unauthorized_client',
      'token',
      refusing(401, 'unauthorized_client'),
      SECRET,
      /^fail: .*does not accept this/,
    ],
    ['a proxy in place of the IdP', 'token', answer(200, '<p>', HTML), SECRET, /^fail: /],
    ['nobody who answers', 'token', { kind: 'reset' }, SECRET, /^fail: .*ECONNRESET/],
    [
      'an answer that does not tell',
      'token',
      refusing(400, 'invalid_request'),
      SECRET,
      /^warn: .*does not tell whether/,
    ],
    ['an objection to the code', 'token', refusing(400, 'invalid_grant'), SECRET, /^warn: .*looks at the code before/],
  ] as readonly (readonly [string, Endpoint, Fault, string, RegExp])[])
    it(`tells about ${about}: ${what}`, async () => {
      const { code, of, out } = await broken(endpoint, fault)
      expect(of(about)).to.match(line)
      expect(code).to.equal(of(about).startsWith('fail') ? 1 : 0)
      expect(out).not.to.contain('\u001b').and.not.to.contain('\nok: all')
    })

  describe('about secret or key', () => {
    const about = 'secret or key'

    it('fails where the secret is another one', async () => {
      const { code, of } = await ask(await start(), {}, { client_secret: 'another-secret' })
      expect(of(about)).to.match(/^fail: .*does not accept this server as its client.*error: invalid_client/)
      expect(code).to.equal(1)
    })

    it('tells a key that the IdP knows from one that it does not', async () => {
      const token_endpoint_auth_method = 'private_key_jwt'
      const signed = { token_endpoint_auth_method, token_endpoint_auth_signing_alg: 'ES256' }
      const knowing = (key: ClientKeyPair) =>
        start({ ...signed, client_secret: undefined, jwks: { keys: [key.public] } })
      const known = await ask(await knowing(KEY), {}, { token_endpoint_auth_method })
      expect(known.of(about)).to.match(/^ok: .*accepted by private_key_jwt/)
      const other = await ask(await knowing(makeKey('P-256', { kid: 'two', alg: 'ES256' })), {}, signed)
      expect(other.of(about)).to.match(/^fail: .*\(or its keys\).*error: invalid_client/)
    })

    it('takes the word of Glewlwyd for a code that it does not know', async () => {
      const idp = await start()
      idp.faults.set('token', { kind: 'answer', status: 403, body: JSON.stringify({ error: 'invalid_code' }) }, 1)
      expect((await ask(idp)).of(about)).to.match(/^ok: /)
    })

    it('has nothing to ask where a login redeems no code', async () => {
      const idp = await start({ response_types: ['id_token'] })
      const { of } = await ask(idp, {}, { response_types: ['id_token'] })
      expect(of(about)).to.equal('ok: secret or key: not needed: a login redeems no code')
      expect(of('client and redirect address')).to.match(/^ok: /)
      expect(idp.requests('token')).to.equal(0)
    })
  })
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
