import { expect } from 'chai'
import { DEMO_USERS } from '../../../fixtures/idp/users.ts'
import { answerFromIdp, CLIENT, type Setup, type SetupOptions, setUp, whoAmI } from '../../support/sign-in-setup.ts'

describe('a login', () => {
  const open: Setup[] = []
  const start = async (options?: SetupOptions) => {
    const setup = await setUp(options)
    open.push(setup)
    return setup
  }
  afterEach(async () => {
    for (const setup of open.splice(0)) await setup.close()
  })

  it('signs the person in under the id of the strategy, and creates the account', async () => {
    const { host, browser, authLog } = await start()
    const person = browser()
    const page = await person.login(host.url, 'alice', 'alice-demo')
    expect(page.url).to.equal(host.url)
    expect(await whoAmI(person, host.url)).to.deep.equal({
      status: 200,
      id: '~oidc:u-1001',
      name: 'Alice Example',
      email: 'alice@example.test',
      emailVerified: true,
      siteAdmin: false,
      userGroups: [],
    })
    expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  it('asks with state, nonce and PKCE S256, fresh each time', async () => {
    const { host, browser } = await start()
    const ask = async () => new URL((await browser().step(`${host.url}auth-oidc`)).headers.location ?? '').searchParams
    const [first, second] = [await ask(), await ask()]
    expect(Object.fromEntries(first)).to.include({
      client_id: 'mesh',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${host.url}auth-oidc-callback`,
      code_challenge_method: 'S256',
    })
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(first.get(name), name).to.match(/^[\w-]{43}$/)
      expect(first.get(name), name).to.not.equal(second.get(name))
    }
  })

  it('brings name and address of a known account up to date', async () => {
    const { host, idp, browser } = await start()
    await browser().login(host.url, 'alice', 'alice-demo')
    const alice = DEMO_USERS.find(({ username }) => username === 'alice')!
    idp.setUser({ ...alice, claims: { ...alice.claims, name: 'Alice Renamed' } })
    const person = browser()
    await person.login(host.url, 'alice', 'alice-demo')
    expect(await whoAmI(person, host.url)).to.include({ id: '~oidc:u-1001', name: 'Alice Renamed' })
  })

  it('refuses unknown users unless newAccounts is true, and lets known ones in either way', async () => {
    const { host, browser, authLog } = await start({ oidc: { newAccounts: false } })
    const person = browser()
    const page = await person.login(host.url, 'alice', 'alice-demo')
    expect(page.url).to.match(/\/login\?failure=access_denied$/)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
    expect(authLog.at(-1)).to.deep.include({ event: 'login-failed', domain: '' })
    expect(authLog.at(-1)?.fields).to.include({ code: 'account_unknown', user: '~oidc:u-1001' })
    const known = { id: '~oidc:u-1001', name: 'x', email: null, emailVerified: false } as const
    await host.records.accounts.create('', known)
    await person.login(host.url, 'alice', 'alice-demo')
    expect((await whoAmI(person, host.url)).status).to.equal(200)
  })

  it('says of an address that it is verified, that it is not, or that the IdP says nothing', async () => {
    const { host, idp, browser } = await start()
    for (const told of [true, false, null]) {
      const claims = { email: 'dora@example.test', ...(told === null ? {} : { email_verified: told }) }
      idp.setUser({ username: 'dora', password: 'dora-demo', sub: 'u-2', claims })
      const person = browser()
      await person.login(host.url, 'dora', 'dora-demo')
      expect((await whoAmI(person, host.url)).emailVerified).to.equal(told)
    }
  })

  it('asks UserInfo whether the address is verified where the ID token does not say', async () => {
    const { host, idp, browser } = await start({ idp: { claimsIn: 'both' } })
    const alice = { username: 'alice', password: 'alice-demo', sub: 'u-1001' }
    const claims = { name: 'Alice', email: 'alice@example.test' }
    for (const [more, asked] of [
      [{ email_verified: true }, 0],
      [{}, 1],
    ] as const) {
      const before = idp.requests('userinfo')
      idp.setUser({ ...alice, claims: { ...claims, ...more } })
      await browser().login(host.url, 'alice', 'alice-demo')
      expect(idp.requests('userinfo') - before).to.equal(asked)
    }
  })

  it('takes claims from UserInfo alone as well as from the ID token', async () => {
    for (const claimsIn of ['id_token', 'userinfo'] as const) {
      const { host, idp, browser } = await start({ idp: { claimsIn } })
      const person = browser()
      await person.login(host.url, 'alice', 'alice-demo')
      expect(await whoAmI(person, host.url), claimsIn).to.include({
        name: 'Alice Example',
        email: 'alice@example.test',
      })
      expect(idp.requests('userinfo'), claimsIn).to.equal(claimsIn === 'userinfo' ? 1 : 0)
    }
  })

  it('lands on the local path that was asked for, and on the start page for any other', async () => {
    const { host, browser } = await start()
    const person = browser()
    await person.login(host.url, 'alice', 'alice-demo')
    const landing = async (wanted: string) =>
      (await person.get(`${host.url}auth-oidc?return=${encodeURIComponent(wanted)}`)).trail.at(-1)
    expect(await landing('/api/me?x=1')).to.equal(`${host.url}api/me?x=1`)
    for (const hostile of ['//evil.test', '/\\evil.test', 'https://evil.test/', '/\t/evil.test', '/.//evil.test']) {
      expect(await landing(hostile), hostile).to.equal(host.url)
    }
  })

  it('begins a new session under a new id', async () => {
    const { host, browser } = await start()
    const person = browser()
    const sessionId = () => /host-\d+=([^;]+)/.exec(person.cookies.header(new URL(host.url)) ?? '')?.[1]
    await person.login(host.url, 'alice', 'alice-demo')
    const first = sessionId()
    await person.get(`${host.url}auth-oidc`)
    expect(sessionId()).to.be.a('string').and.not.equal(first)
    const stale = browser()
    expect(
      (await stale.step(`${host.url}api/me`, { headers: { cookie: `host-${host.port}=${first}` } })).status,
    ).to.equal(401)
  })

  it('succeeds in each of several parallel tabs of one browser', async () => {
    const { host, browser } = await start()
    const person = browser()
    const pages = await Promise.all(Array.from({ length: 5 }, () => person.get(`${host.url}auth-oidc`)))
    for (const page of [...pages].reverse()) {
      expect((await person.signIn(page, 'alice', 'alice-demo')).url).to.equal(host.url)
    }
    expect((await whoAmI(person, host.url)).status).to.equal(200)
  })

  it('keeps at most 10 logins under way: the eleventh takes the place of the first', async () => {
    const { host, browser } = await start()
    const person = browser()
    const answers = [await answerFromIdp(person, host.url, 'alice')]
    for (let i = 1; i < 11; i += 1) {
      // Signed in at the IdP, which answers at once.
      const asked = await person.step(`${host.url}auth-oidc`)
      let answer = await person.step(asked.headers.location!)
      while (!answer.headers.location!.startsWith(host.url)) answer = await person.step(answer.headers.location!)
      answers.push(answer.headers.location!)
    }
    const outcomes = []
    for (const address of answers) outcomes.push((await person.step(address)).headers.location)
    expect(outcomes).to.deep.equal(['/login?failure=login_expired', ...Array(10).fill('/')])
  })

  it('works with each way of showing the client secret', async () => {
    for (const method of ['client_secret_basic', 'client_secret_post', 'client_secret_jwt']) {
      const { host, browser } = await start({
        client: { token_endpoint_auth_method: method },
        registered: { token_endpoint_auth_method: method },
      })
      expect((await browser().login(host.url, 'alice', 'alice-demo')).url, method).to.equal(host.url)
    }
  })

  it('works with ID tokens that come by form_post, alone and with a code', async () => {
    for (const responseType of ['id_token', 'code id_token'] as const) {
      const { host, browser } = await start({
        client: { response_types: [responseType] },
        registered: { response_types: [responseType], grant_types: ['implicit', 'authorization_code'] },
      })
      const person = browser()
      const page = await person.login(host.url, 'alice', 'alice-demo')
      expect(page.url, responseType).to.equal(host.url)
      expect(await whoAmI(person, host.url), responseType).to.include({ id: '~oidc:u-1001' })
    }
  })

  it('pushes the authorization request where the IdP wants that', async () => {
    const { host, idp, browser } = await start({ idp: { requirePushedRequests: true } })
    expect((await browser().login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    expect(idp.requests('pushed_authorization_request')).to.equal(1)
  })

  describe('while the IdP is away', () => {
    it('leads to a clear message and one line with the cause, and works as soon as the IdP is back', async () => {
      const setup = await start()
      const { host, idp, browser } = setup
      await idp.down()
      const late = await start({ oidc: { issuer: idp.issuer } })
      const person = browser()
      const page = await person.get(`${late.host.url}auth-oidc`)
      expect(page.url).to.match(/\/login\?failure=provider_unreachable$/)
      expect(page.text).to.include('cannot be reached')
      expect(late.authLog).to.have.length(1)
      expect(late.authLog[0]?.message).to.include('OIDC: Discovery failed.')
      expect(late.authLog[0]?.fields).to.include({ code: 'discovery_failed', causeCode: 'ECONNREFUSED' })
      expect(late.output.join('')).to.include('OIDC: Discovery failed. ECONNREFUSED')
      await idp.up()
      await idp.addClient({ ...CLIENT, redirect_uris: [`${late.host.url}auth-oidc-callback`] })
      expect((await person.login(late.host.url, 'alice', 'alice-demo')).url).to.equal(late.host.url)
      expect(host.url).to.not.equal(late.host.url)
    })
  })
})
