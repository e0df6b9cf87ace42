import { expect } from 'chai'
import { CompactSign, generateKeyPair } from 'jose'
import type { Idp } from '../../../fixtures/idp/server.ts'
import { partsOf } from '../../support/keyed-setup.ts'
import { answerFromIdp, CLIENT, type Setup, setups, whoAmI } from '../../support/sign-in-setup.ts'

describe('attacks on a login', () => {
  const start = setups()

  /** Expects the answer to open no session, the user to see our message, and the log to have one line. */
  async function expectRefusal(
    setup: Setup,
    answer: string,
    code: string,
    { person = setup.browser(), cookie = undefined as string | undefined } = {},
  ) {
    const { headers } = await person.step(answer, cookie === undefined ? {} : { headers: { cookie } })
    expect(headers.location).to.match(/^\/login\?failure=[a-z_]+$/)
    expect(await setup.isIn(person)).to.equal(false)
    expect(setup.lines('login-failed').map(({ fields }) => fields.code)).to.deep.equal([code])
  }

  /** Lets Alice sign in at the IdP, and expects the answer to be refused in her own browser. */
  async function expectRefusedLogin(setup: Setup, code: string, change: (answer: URL) => void = () => undefined) {
    const person = setup.browser()
    const answer = new URL(await answerFromIdp(person, setup.host.url, 'alice'))
    change(answer)
    await expectRefusal(setup, answer.href, code, { person })
  }

  // Shows: plugin 10.9.
  // Shows: meshcentral 8.
  it('refuses an IdP answer in a browser that began no login (login CSRF)', async () => {
    const setup = await start()
    const answer = await answerFromIdp(setup.browser(), setup.host.url, 'bob')
    await expectRefusal(setup, answer, 'transaction_missing')
  })

  // Shows: plugin 10.9.
  it("keeps a browser's session if an IdP answer meant for another browser arrives", async () => {
    const setup = await start()
    const { person: victim } = await setup.signIn()
    await victim.step(await answerFromIdp(setup.browser(), setup.host.url, 'bob'))
    expect(await whoAmI(victim, setup.host.url)).to.include({ status: 200, id: '~oidc:u-1001' })
  })

  // Shows: plugin 10.10.
  // Shows: meshcentral 7.
  it('refuses an authorization response that contains the code of another login', async () => {
    const setup = await start()
    const stolenCode = new URL(await answerFromIdp(setup.browser(), setup.host.url, 'bob')).searchParams.get('code')!
    await expectRefusedLogin(setup, 'token_request_failed', ({ searchParams }) => searchParams.set('code', stolenCode))
  })

  // Shows: plugin 10.10.
  it("refuses a replayed authorization response, even with the first browser's cookies", async () => {
    const setup = await start()
    const person = setup.browser()
    const answer = await answerFromIdp(person, setup.host.url, 'alice')
    const cookie = person.cookies.header(new URL(setup.host.url))!
    expect((await person.step(answer)).headers.location).to.equal('/')
    await expectRefusal(setup, answer, 'transaction_missing', { cookie })
    expect(setup.idp.requests('token')).to.equal(1)
  })

  for (const [description, code, change] of [
    ['with no state', 'transaction_missing', (query) => query.delete('state')],
    ['with a state that is given twice', 'transaction_missing', (query) => query.append('state', query.get('state')!)],
    ['with a state one letter longer', 'transaction_missing', (query) => query.set('state', `${query.get('state')}_`)],
    ['that names no issuer', 'answer_issuer_invalid', (query) => query.delete('iss')],
    ['that names another issuer', 'answer_issuer_invalid', (query) => query.set('iss', 'https://evil.test')],
  ] as readonly (readonly [string, string, (query: URLSearchParams) => void])[]) {
    // Shows: plugin 9.16.
    it(`refuses an authorization response ${description}`, async () => {
      const setup = await start()
      await expectRefusedLogin(setup, code, ({ searchParams }) => change(searchParams))
      expect(setup.idp.requests('token')).to.equal(0)
    })
  }

  // Shows: plugin 9.43.
  // Shows: meshcentral 6.
  it("escapes a script in the IdP's error message, both on the page and in the log", async () => {
    const setup = await start()
    const person = setup.browser()
    const answer = new URL(await answerFromIdp(person, setup.host.url, 'alice'))
    answer.search = new URLSearchParams({
      state: answer.searchParams.get('state')!,
      iss: setup.idp.issuer,
      error: 'access_denied',
      error_description: `<script>alert(1)</script>'"\r\nforged line \u001b[31m`,
    }).toString()
    const page = await person.get(answer.href)
    expect(page.body).to.not.match(/<script|alert\(|forged/)
    expect(page.text).to.include('You cancelled the sign-in')
    const [line] = setup.authLog
    expect(line?.fields).to.include({ code: 'provider_error', error: 'access_denied' })
    expect(line?.fields.errorDescription)
      .to.match(/forged line/)
      .and.to.not.match(/\p{Cc}/u)
    expect(await setup.isIn(person)).to.equal(false)
  })

  const signed = (header: object, claims: object, key: Parameters<CompactSign['sign']>[0]) =>
    new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header as never).sign(key)
  const resigned = (change: () => object) => (genuine: string, idp: Idp) =>
    idp.sign({ ...partsOf(genuine)[1], ...change() })
  const now = () => Math.floor(Date.now() / 1000)
  const FORGERIES: Readonly<Record<string, (genuine: string, idp: Idp) => string | Promise<string>>> = {
    'without a signature': (genuine) =>
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${genuine.split('.')[1]}.`,
    'with a broken signature': (genuine) => `${genuine.slice(0, -4)}AAAA`,
    'that a stranger signed under a key id of the IdP': async (genuine) => {
      const { privateKey } = await generateKeyPair('RS256')
      return signed(...partsOf(genuine), privateKey)
    },
    'signed with HS256 and a public key': async (genuine, { issuer }) => {
      const keys = await (await fetch(`${issuer}/jwks`)).text()
      return signed({ alg: 'HS256' }, partsOf(genuine)[1], Buffer.from(keys))
    },
    'signed with HS256 and the client secret': (genuine) =>
      signed({ alg: 'HS256' }, partsOf(genuine)[1], Buffer.from(CLIENT.client_secret)),
    'of another issuer': resigned(() => ({ iss: 'https://evil.test' })),
    'for another client': resigned(() => ({ aud: 'other' })),
    'for several clients, issued to another': resigned(() => ({ aud: ['mesh', 'other'], azp: 'other' })),
    'for several clients, issued to nobody': resigned(() => ({ aud: ['mesh', 'other'] })),
    'issued to another client': resigned(() => ({ azp: 'other' })),
    'with the nonce of another login': resigned(() => ({ nonce: 'x' })),
    'without a nonce': resigned(() => ({ nonce: undefined })),
    'that has expired': resigned(() => ({ exp: now() - 120 })),
    'that never expires': resigned(() => ({ exp: undefined })),
    'issued over 10 minutes ago': resigned(() => ({ iat: now() - 700 })),
    'issued in the future': resigned(() => ({ iat: now() + 120 })),
    'that is not valid yet': resigned(() => ({ nbf: now() + 120 })),
    'without a subject': resigned(() => ({ sub: undefined })),
  }
  for (const responseType of ['code', 'id_token', 'code id_token']) {
    const members = { response_types: [responseType] }

    for (const [description, forge] of Object.entries(FORGERIES)) {
      // Shows: plugin 10.1, 10.2, 10.5, 10.6.
      it(`refuses an ID token ${description} (${responseType})`, async () => {
        const { idp, signIn } = await start({ client: members, registered: members })
        let isFirst = true
        // In a hybrid login, forge only the first token, which the browser brings. The second is genuine.
        idp.forgeTokens((genuine) => {
          const token = isFirst ? forge(genuine, idp) : genuine
          isFirst = false
          return token
        })
        const { page, me, failure } = await signIn()
        expect(page.url).to.match(/failure=login_failed$/)
        expect({ status: me.status, code: failure?.code }).to.deep.equal({ status: 401, code: 'id_token_invalid' })
      })
    }

    // Shows: plugin 4.12, 10.3.
    it(`refuses an ID token signed with a withdrawn key (${responseType})`, async () => {
      const { idp, host, clock, isIn, signIn } = await start({ client: members, registered: members })
      const { person } = await signIn()
      await idp.rotateKeys({ withdraw: true })
      const genuine = person.get(`${host.url}auth-oidc`)
      await clock.pass(1_000)
      expect((await genuine).url).to.equal(host.url)
      idp.forgeTokens((genuine) => idp.sign(partsOf(genuine)[1], undefined, 'previous'))
      const forged = person.get(`${host.url}auth-oidc`)
      await clock.pass(1_000)
      expect((await forged).url).to.include('failure=login_failed')
      expect(await isIn(person)).to.equal(false)
    })
  }

  const keys = (body: string) => ({ kind: 'answer', status: 200, body }) as const
  const endless = { kind: 'huge', bytes: 50_000_000 } as const
  for (const [description, endpoint, fault, code] of [
    ['with a key set that is broken', 'jwks', keys('{"keys":7}'), 'id_token_invalid'],
    ['with an empty key set', 'jwks', keys('{"keys":[]}'), 'id_token_invalid'],
    ['with an endless token answer', 'token', endless, 'provider_unreachable'],
    [
      'with a redirect of the token request',
      'token',
      { kind: 'redirect', to: 'http://127.0.0.1:1/' },
      'token_request_failed',
    ],
    ['with an endless UserInfo answer', 'userinfo', endless, 'provider_unreachable'],
    [
      'by a UserInfo answer for another subject',
      'userinfo',
      { kind: 'rewrite', body: (original: unknown) => ({ ...(original as object), sub: 'u-1002' }) },
      'userinfo_failed',
    ],
  ] as const) {
    // Shows: plugin 10.4, 10.14, 10.21, 10.22.
    it(`refuses a login ${description}`, async () => {
      // The ID token has all other claims: the wrong answer is refused nevertheless.
      const needsMore = { custom: { claims: { name: 'nickname' } } }
      const setup = await start({ oidc: needsMore })
      setup.idp.faults.set(endpoint, fault)
      await expectRefusedLogin(setup, code)
    })
  }

  it('a refused login ends the session that the browser already had', async () => {
    const { idp, host, isIn, signIn } = await start({ oidc: { groups: { required: 'mesh-users' } } })
    const { person, me } = await signIn('bob')
    expect(me.status).to.equal(200)
    idp.setUser({ username: 'bob', password: 'bob-demo', sub: 'u-1002', claims: { name: 'Bob', groups: [] } })
    const page = await person.get(`${host.url}auth-oidc`)
    expect(page.url).to.include('failure=access_denied')
    expect(page.text).to.not.include('mesh-users')
    expect(await isIn(person)).to.equal(false)
  })

  // Shows: plugin 10.29.
  it('neither a login nor a failed login writes a secret to any log', async () => {
    const setup = await start()
    const { host } = setup
    const person = setup.browser()
    const answer = new URL(await answerFromIdp(person, host.url, 'alice'))
    await person.step(answer.href)
    const stranger = setup.browser()
    await stranger.step(answer.href)
    await setup.register({ client_secret: 'changed-at-the-idp-meanwhile' })
    await person.get(`${host.url}auth-oidc`)
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login', 'login-failed', 'login-failed'])
    expect(setup.authLog[2]?.fields).to.include({ code: 'token_request_failed', status: 401 })
    const everything = JSON.stringify(setup.authLog) + setup.output.join('')
    const session = /host-\d+=([^;]+)/.exec(person.cookies.header(new URL(host.url)) ?? '')?.[1]
    const [code, state] = ['code', 'state'].map((name) => answer.searchParams.get(name))
    for (const secret of [CLIENT.client_secret, code, state, session, 'eyJ']) {
      if (secret) expect(everything).to.not.include(secret)
    }
  })
})
