import { expect } from 'chai'
import { CompactSign, generateKeyPair } from 'jose'
import { answerFromIdp, CLIENT, type Setup, type SetupOptions, setUp, whoAmI } from '../../support/sign-in-setup.ts'

describe('an attack on a login', () => {
  const open: Setup[] = []
  const start = async (options?: SetupOptions) => {
    const setup = await setUp(options)
    open.push(setup)
    return setup
  }
  afterEach(async () => {
    for (const setup of open.splice(0)) await setup.close()
  })

  /** Nobody is signed in, the person reads a message of ours, the administrator one line. */
  async function expectRefusal(
    setup: Setup,
    person: ReturnType<Setup['browser']>,
    location: string | undefined,
    code: string,
  ) {
    expect(location).to.match(/^\/login\?failure=[a-z_]+$/)
    expect((await whoAmI(person, setup.host.url)).status).to.equal(401)
    const failures = setup.authLog.filter(({ event }) => event === 'login-failed')
    expect(failures).to.have.length(1)
    expect(failures[0]?.fields.code).to.equal(code)
  }

  /** A whole login in which every ID token is what `forge` makes of the genuine one. */
  async function loginWithForged(
    forge: (setup: Setup, claims: Record<string, unknown>) => Promise<string>,
    options?: SetupOptions,
  ) {
    const setup = await start(options)
    setup.idp.forgeTokens(async (genuine) =>
      forge(setup, JSON.parse(Buffer.from(genuine.split('.')[1]!, 'base64url').toString())),
    )
    const person = setup.browser()
    const answer = await answerFromIdp(person, setup.host.url, 'alice')
    const { headers } = await person.step(answer)
    return { setup, person, location: headers.location }
  }

  it('by code and state from another browser is refused (login CSRF)', async () => {
    const setup = await start()
    const answer = await answerFromIdp(setup.browser(), setup.host.url, 'bob')
    const victim = setup.browser()
    const { headers } = await victim.step(answer)
    await expectRefusal(setup, victim, headers.location, 'transaction_missing')
  })

  it('by code and state from another browser does not end a session that is there', async () => {
    const setup = await start()
    const victim = setup.browser()
    await victim.login(setup.host.url, 'alice', 'alice-demo')
    await victim.step(await answerFromIdp(setup.browser(), setup.host.url, 'bob'))
    expect(await whoAmI(victim, setup.host.url)).to.include({ status: 200, id: '~oidc:u-1001' })
  })

  it('by the code of one login with the state of another is refused', async () => {
    const setup = await start()
    const attacker = setup.browser()
    const stolen = new URL(await answerFromIdp(attacker, setup.host.url, 'bob')).searchParams.get('code')!
    const victim = setup.browser()
    const answer = new URL(await answerFromIdp(victim, setup.host.url, 'alice'))
    answer.searchParams.set('code', stolen)
    const { headers } = await victim.step(answer.href)
    await expectRefusal(setup, victim, headers.location, 'token_request_failed')
  })

  it('by repeating a finished answer is refused, even with the cookie of that login', async () => {
    const setup = await start()
    const person = setup.browser()
    const answer = await answerFromIdp(person, setup.host.url, 'alice')
    const cookie = person.cookies.header(new URL(setup.host.url))!
    expect((await person.step(answer)).headers.location).to.equal('/')
    const again = setup.browser()
    const { headers } = await again.step(answer, { headers: { cookie } })
    await expectRefusal(setup, again, headers.location, 'transaction_missing')
    expect(setup.idp.requests('token')).to.equal(1)
  })

  for (const [what, change] of Object.entries<(parameters: URLSearchParams) => void>({
    'no state': (parameters) => parameters.delete('state'),
    'an empty state': (parameters) => parameters.set('state', ''),
    'a state that is given twice': (parameters) => parameters.append('state', parameters.get('state')!),
    'a state with one letter changed': (parameters) =>
      parameters.set('state', `${parameters.get('state')!.slice(0, -1)}_`),
  })) {
    it(`by an answer with ${what} is refused`, async () => {
      const setup = await start()
      const person = setup.browser()
      const answer = new URL(await answerFromIdp(person, setup.host.url, 'alice'))
      change(answer.searchParams)
      const { headers } = await person.step(answer.href)
      await expectRefusal(setup, person, headers.location, 'transaction_missing')
      expect(setup.idp.requests('token')).to.equal(0)
    })
  }

  it('by an answer that names another issuer is refused (mix-up, RFC 9207)', async () => {
    const setup = await start()
    const person = setup.browser()
    const answer = new URL(await answerFromIdp(person, setup.host.url, 'alice'))
    answer.searchParams.set('iss', 'https://evil.test')
    const { headers } = await person.step(answer.href)
    await expectRefusal(setup, person, headers.location, 'answer_issuer_invalid')
    expect(setup.idp.requests('token')).to.equal(0)
  })

  it('by script in the words of the IdP reaches neither the page nor the log as it is', async () => {
    const setup = await start()
    const person = setup.browser()
    const answer = new URL(await answerFromIdp(person, setup.host.url, 'alice'))
    const state = answer.searchParams.get('state')!
    answer.search = new URLSearchParams({
      state,
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
    expect((await whoAmI(person, setup.host.url)).status).to.equal(401)
  })

  it('by a token without a signature is refused', async () => {
    const { setup, person, location } = await loginWithForged(async (_, claims) => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      return `${part({ alg: 'none' })}.${part(claims)}.`
    })
    await expectRefusal(setup, person, location, 'id_token_invalid')
  })

  it('by a token with a broken signature is refused', async () => {
    const setup = await start()
    setup.idp.forgeTokens((genuine) => `${genuine.slice(0, -4)}AAAA`)
    const person = setup.browser()
    const { headers } = await person.step(await answerFromIdp(person, setup.host.url, 'alice'))
    await expectRefusal(setup, person, headers.location, 'id_token_invalid')
  })

  it('by a token that a stranger signed under a key id of the IdP is refused', async () => {
    const { privateKey } = await generateKeyPair('RS256')
    const { setup, person, location } = await loginWithForged(async ({ idp }, claims) => {
      const genuine = await idp.sign(claims)
      const header = JSON.parse(Buffer.from(genuine.split('.')[0]!, 'base64url').toString())
      return new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(privateKey)
    })
    await expectRefusal(setup, person, location, 'id_token_invalid')
  })

  it('by a token signed with HS256 and a public key or the client secret is refused', async () => {
    for (const secret of ['public key', 'client secret']) {
      const { setup, person, location } = await loginWithForged(async ({ idp }, claims) => {
        const keys = await (await fetch(`${idp.issuer}/jwks`)).text()
        const key = Buffer.from(secret === 'public key' ? keys : CLIENT.client_secret)
        return new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader({ alg: 'HS256' }).sign(key)
      })
      await expectRefusal(setup, person, location, 'id_token_invalid')
    }
  })

  const now = () => Math.floor(Date.now() / 1000)
  for (const [what, change] of Object.entries<() => Record<string, unknown>>({
    'of another issuer': () => ({ iss: 'https://evil.test' }),
    'for another client': () => ({ aud: 'other' }),
    'for several clients, issued to another': () => ({ aud: ['mesh', 'other'], azp: 'other' }),
    'issued to another client': () => ({ azp: 'other' }),
    'with the nonce of another login': () => ({ nonce: 'x' }),
    'without a nonce': () => ({ nonce: undefined }),
    'that has expired': () => ({ exp: now() - 120 }),
    'that never expires': () => ({ exp: undefined }),
    'issued over 10 minutes ago': () => ({ iat: now() - 700 }),
    'issued in the future': () => ({ iat: now() + 120 }),
    'that is not valid yet': () => ({ nbf: now() + 120 }),
    'without a subject': () => ({ sub: undefined }),
  })) {
    it(`by a token ${what} is refused`, async () => {
      const { setup, person, location } = await loginWithForged(({ idp }, claims) =>
        idp.sign({ ...claims, ...change() }),
      )
      await expectRefusal(setup, person, location, 'id_token_invalid')
    })
  }

  it('by an id with control characters is refused', async () => {
    const { setup, person, location } = await loginWithForged(
      ({ idp }, claims) => idp.sign({ ...claims, sub: 'a\u0000b' }),
      {
        idp: { claimsIn: 'id_token' },
      },
    )
    await expectRefusal(setup, person, location, 'subject_unusable')
  })

  it('by a UserInfo answer for another subject is refused', async () => {
    const setup = await start({ idp: { claimsIn: 'userinfo' } })
    setup.idp.faults.set('userinfo', {
      kind: 'rewrite',
      body: (original) => ({ ...(original as object), sub: 'u-1002' }),
    })
    const person = setup.browser()
    const { headers } = await person.step(await answerFromIdp(person, setup.host.url, 'alice'))
    await expectRefusal(setup, person, headers.location, 'userinfo_failed')
  })

  it('with a key that the IdP withdrew is refused at the very next login, and a new key works at once', async () => {
    const setup = await start()
    const { idp, host, clock } = setup
    const person = setup.browser()
    await person.login(host.url, 'alice', 'alice-demo')
    await idp.rotateKeys({ withdraw: true })
    const genuine = person.get(`${host.url}auth-oidc`)
    await clock.pass(1_000)
    expect((await genuine).url).to.equal(host.url)
    idp.forgeTokens((genuine) =>
      idp.sign(JSON.parse(Buffer.from(genuine.split('.')[1]!, 'base64url').toString()), undefined, 'previous'),
    )
    const forged = person.get(`${host.url}auth-oidc`)
    await clock.pass(1_000)
    expect((await forged).url).to.include('failure=login_failed')
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  for (const [what, endpoint, fault, code] of [
    ['a key set that is broken', 'jwks', { kind: 'answer', status: 200, body: '{"keys":7}' }, 'id_token_invalid'],
    ['an empty key set', 'jwks', { kind: 'answer', status: 200, body: '{"keys":[]}' }, 'id_token_invalid'],
    ['a failing key set', 'jwks', { kind: 'answer', status: 500 }, 'provider_unreachable'],
    ['an endless token answer', 'token', { kind: 'huge', bytes: 50_000_000 }, 'provider_unreachable'],
    [
      'a redirect of the token request',
      'token',
      { kind: 'redirect', to: 'http://127.0.0.1:1/' },
      'token_request_failed',
    ],
    ['a lost connection', 'token', { kind: 'reset' }, 'provider_unreachable'],
    [
      'an error page in place of tokens',
      'token',
      { kind: 'answer', status: 500, body: '<h1>oops</h1>' },
      'token_request_failed',
    ],
    ['an endless UserInfo answer', 'userinfo', { kind: 'huge', bytes: 50_000_000 }, 'provider_unreachable'],
  ] as const) {
    it(`with ${what} is refused`, async () => {
      const setup = await start({ idp: { claimsIn: 'userinfo' } })
      setup.idp.faults.set(endpoint, fault)
      const person = setup.browser()
      const { headers } = await person.step(await answerFromIdp(person, setup.host.url, 'alice'))
      await expectRefusal(setup, person, headers.location, code)
    })
  }

  it('that fails never leaves an earlier session of the browser behind', async () => {
    const setup = await start({ oidc: { newAccounts: true, groups: { required: 'mesh-users' } } })
    const { idp, host } = setup
    const person = setup.browser()
    await person.login(host.url, 'bob', 'bob-demo')
    expect((await whoAmI(person, host.url)).status).to.equal(200)
    idp.setUser({ username: 'bob', password: 'bob-demo', sub: 'u-1002', claims: { name: 'Bob', groups: [] } })
    const page = await person.get(`${host.url}auth-oidc`)
    expect(page.url).to.include('failure=access_denied')
    expect(page.text).to.not.include('mesh-users')
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  it('leaves no secret in any log', async () => {
    const setup = await start()
    const { idp, host } = setup
    const person = setup.browser()
    const answer = new URL(await answerFromIdp(person, host.url, 'alice'))
    await person.step(answer.href)
    const stranger = setup.browser()
    await stranger.step(answer.href)
    await idp.addClient({
      ...CLIENT,
      client_secret: 'changed-at-the-idp-meanwhile',
      redirect_uris: [`${host.url}auth-oidc-callback`],
    })
    await person.get(`${host.url}auth-oidc`)
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login', 'login-failed', 'login-failed'])
    expect(setup.authLog[2]?.fields).to.include({ code: 'token_request_failed', status: 401 })
    const everything = JSON.stringify(setup.authLog) + setup.output.join('')
    const session = /host-\d+=([^;]+)/.exec(person.cookies.header(new URL(host.url)) ?? '')?.[1]
    for (const secret of [
      CLIENT.client_secret,
      answer.searchParams.get('code')!,
      answer.searchParams.get('state')!,
      session,
      'eyJ',
    ]) {
      if (secret) expect(everything).to.not.include(secret)
    }
  })
})
