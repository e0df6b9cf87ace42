import { expect } from 'chai'
import { CLIENT, setups } from '../../support/sign-in-setup.ts'

describe('a login', () => {
  const start = setups()

  it('signs the person in under the id of the strategy, and creates the account', async () => {
    const { host, signIn, authLog } = await start()
    const { page, who } = await signIn()
    expect(page.url).to.equal(host.url)
    expect(who).to.deep.equal({
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
    const { host, asked } = await start()
    const [first, second] = [(await asked()).searchParams, (await asked()).searchParams]
    expect(Object.fromEntries(first)).to.include({
      client_id: 'mesh',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${host.url}auth-oidc-callback`,
      code_challenge_method: 'S256',
    })
    expect([...first.keys()].sort().join(' ')).to.equal(
      'client_id code_challenge code_challenge_method nonce redirect_uri response_type scope state',
    )
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(first.get(name), name).to.match(/^[\w-]{43}$/)
      expect(first.get(name), name).to.not.equal(second.get(name))
    }
  })

  it('asks UserInfo whether the address is verified where the ID token does not say', async () => {
    const { idp, signIn } = await start({ idp: { claimsIn: 'both' } })
    const alice = { username: 'alice', password: 'alice-demo', sub: 'u-1001' }
    const claims = { name: 'Alice', email: 'alice@example.test' }
    for (const [more, asked] of [
      [{ email_verified: true }, 0],
      [{}, 1],
    ] as const) {
      const before = idp.requests('userinfo')
      idp.setUser({ ...alice, claims: { ...claims, ...more } })
      await signIn()
      expect(idp.requests('userinfo') - before).to.equal(asked)
    }
  })

  it('lands on the local path that was asked for, and on the start page for any other', async () => {
    const { host, signIn } = await start()
    const { person } = await signIn()
    const landing = async (wanted: string) =>
      (await person.get(`${host.url}auth-oidc?return=${encodeURIComponent(wanted)}`)).trail.at(-1)
    expect(await landing('/api/me?x=1')).to.equal(`${host.url}api/me?x=1`)
    for (const hostile of ['//evil.test', 'https://evil.test/']) {
      expect(await landing(hostile), hostile).to.equal(host.url)
    }
  })

  it('succeeds in each of several parallel tabs of one browser', async () => {
    const { host, browser, isIn } = await start()
    const person = browser()
    const pages = await Promise.all(Array.from({ length: 3 }, () => person.get(`${host.url}auth-oidc`)))
    for (const page of pages.toReversed()) {
      expect((await person.signIn(page, 'alice', 'alice-demo')).url).to.equal(host.url)
    }
    expect(await isIn(person)).to.equal(true)
  })

  it('leads to a clear message and one line with the cause while the IdP is away, and works as soon as it is back', async () => {
    const { idp } = await start()
    await idp.down()
    const late = await start({ oidc: { issuer: idp.issuer } })
    const person = late.browser()
    const page = await person.get(`${late.host.url}auth-oidc`)
    expect(page.url).to.match(/\/login\?failure=provider_unreachable$/)
    expect(page.text).to.include('cannot be reached')
    expect(late.authLog).to.have.length(1)
    expect(late.authLog[0]?.message).to.include('OIDC: Discovery failed.')
    expect(late.authLog[0]?.fields).to.include({ code: 'discovery_failed', causeCode: 'ECONNREFUSED' })
    expect(late.output.join('')).to.include('OIDC: Discovery failed. ECONNREFUSED')
    await idp.up()
    await idp.addClient({ ...CLIENT, redirect_uris: [`${late.host.url}auth-oidc-callback`] })
    expect((await late.signIn('alice', person)).page.url).to.equal(late.host.url)
  })
})
