import { expect } from 'chai'
import { startHost } from '../../../fixtures/host/server.ts'
import { CLIENT, type Setup, type SetupOptions, setUp, whoAmI } from '../../support/sign-in-setup.ts'

/** What the provider answers, without a member. */
const without = (name: string) => (original: unknown) => ({ ...(original as object), [name]: undefined })

describe('a logout', () => {
  const open: { close(): Promise<void> }[] = []
  const start = async (options?: SetupOptions) => {
    const setup = await setUp(options)
    open.push(setup)
    const person = setup.browser()
    await person.login(setup.host.url, 'alice', 'alice-demo')
    return { ...setup, setup, person }
  }
  /** Another host at the same provider; it discovers it anew. */
  const anotherHost = async ({ idp }: Setup, oidc: Record<string, unknown> = {}) => {
    const host = await startHost({
      config: (port: number) => ({
        settings: { cert: '127.0.0.1', port },
        domains: {
          '': {
            authStrategies: {
              oidc: {
                issuer: idp.issuer,
                newAccounts: true,
                client: { ...CLIENT, redirect_uri: `http://127.0.0.1:${port}/auth-oidc-callback` },
                ...oidc,
              },
            },
          },
        },
      }),
      output: { write: () => undefined },
      authLog: () => undefined,
    })
    open.push(host)
    await idp.addClient({ ...CLIENT, redirect_uris: [`${host.url}auth-oidc-callback`] })
    return host.url
  }
  afterEach(async () => {
    for (const setup of open.splice(0).reverse()) await setup.close()
  })

  it('ends the session here, then sends the browser to the IdP with a hint of who it was and where to come back to', async () => {
    const { host, idp, person } = await start()
    const { headers, status } = await person.step(`${host.url}logout`)
    expect(status).to.equal(302)
    const url = new URL(headers.location!)
    expect(url.origin + url.pathname).to.equal(`${idp.issuer}/session/end`)
    expect(url.searchParams.get('id_token_hint')).to.match(/^eyJ/)
    expect(url.searchParams.get('client_id')).to.equal('mesh')
    expect(url.searchParams.get('post_logout_redirect_uri')).to.equal(`${host.url}login`)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  it('ends the session at the IdP and comes back to the login page: the next login asks for the password', async () => {
    const { host, person } = await start()
    const [form] = (await person.get(host.url)).forms
    const question = await person.submit(form!)
    const page = await person.submit(question.forms[0]!, {}, 'Yes, sign me out')
    expect(page.url).to.equal(`${host.url}login`)
    const next = await person.get(`${host.url}auth-oidc`)
    expect(next.forms[0]?.fields.map(([name]) => name)).to.include('password')
  })

  it('makes a copy of the old session cookie worthless', async () => {
    const { host, person, browser } = await start()
    const cookie = person.cookies.header(new URL(host.url))!
    await person.step(`${host.url}logout`, { method: 'POST' })
    expect((await browser().step(`${host.url}api/me`, { headers: { cookie } })).status).to.equal(401)
  })

  it('sends no address to come back to when post_logout_redirect_uri is false', async () => {
    const { host, person } = await start({ client: { post_logout_redirect_uri: false } })
    const url = new URL((await person.step(`${host.url}logout`)).headers.location!)
    expect(url.searchParams.has('post_logout_redirect_uri')).to.equal(false)
    expect(url.searchParams.has('id_token_hint')).to.equal(true)
  })

  it('goes to logouturl as it is written, where there is one', async () => {
    const logouturl = 'https://idp.test/bye?x=1&TargetResource=https%3A%2F%2Fmesh.test%2Flogin'
    const { host, person } = await start({ oidc: { newAccounts: true, logouturl } })
    expect((await person.step(`${host.url}logout`)).headers.location).to.equal(logouturl)
  })

  it('of nobody leads to the login page', async () => {
    const { host, browser } = await start()
    expect((await browser().step(`${host.url}logout`)).headers.location).to.equal('/login')
  })

  it('ends the session here even when the IdP is away', async () => {
    const { host, idp, person } = await start()
    await idp.down()
    const { status } = await person.step(`${host.url}logout`)
    expect(status).to.equal(302)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  it('names who logs out in a few words when the ID token is too large for an address', async () => {
    for (const [more, hint] of [
      [{}, 'u-2000'],
      [{ login_hint: 'a hint of the IdP' }, 'a hint of the IdP'],
    ] as const) {
      const { setup, host, idp, person } = await start({
        idp: { scopes: { large: ['large', 'login_hint'] } },
        oidc: { custom: { scope: 'openid profile large' } },
      })
      idp.setUser({
        username: 'bob',
        password: 'bob-demo',
        sub: 'u-2000',
        claims: { name: 'Bob', large: 'x'.repeat(4096), ...more },
      })
      const other = setup.browser()
      await other.login(host.url, 'bob', 'bob-demo')
      const { location = '' } = (await other.step(`${host.url}logout`)).headers
      const url = new URL(location)
      expect(url.searchParams.has('id_token_hint')).to.equal(false)
      expect(Object.fromEntries(url.searchParams)).to.deep.equal({
        client_id: 'mesh',
        logout_hint: hint,
        post_logout_redirect_uri: `${host.url}login`,
      })
      // As long as it fits, it is sent.
      const { headers } = await person.step(`${host.url}logout`)
      expect(new URL(headers.location!).searchParams.has('id_token_hint')).to.equal(true)
      const page = await other.get(location)
      expect((await other.submit(page.forms[0]!, {}, 'Yes, sign me out')).url).to.equal(`${host.url}login`)
    }
  })

  it('at another domain ends the session, and hands nothing of it to the IdP of that one', async () => {
    const { setup, idp } = await start()
    const oidc = (host: string, port: number) => ({
      authStrategies: {
        oidc: {
          issuer: idp.issuer,
          newAccounts: true,
          client: { ...CLIENT, redirect_uri: `http://${host}:${port}/auth-oidc-callback` },
        },
      },
    })
    const host = await startHost({
      config: (port: number) => ({
        settings: { cert: '127.0.0.1', port },
        domains: { '': oidc('127.0.0.1', port), customer: { dns: 'localhost', ...oidc('localhost', port) } },
      }),
      output: { write: () => undefined },
      authLog: () => undefined,
    })
    open.push(host)
    await idp.addClient({ ...CLIENT, redirect_uris: [`${host.url}auth-oidc-callback`] })
    const person = setup.browser()
    await person.login(host.url, 'bob', 'bob-demo')
    // One host name's cookies are not another's, unless a server says so.
    const cookie = person.cookies.header(new URL(host.url))!
    const elsewhere = `http://localhost:${host.port}/`
    const { headers } = await setup.browser().step(`${elsewhere}logout`, { headers: { cookie } })
    const sent = new URL(headers.location!).searchParams
    expect([...sent.keys()].toSorted()).to.deep.equal(['client_id', 'post_logout_redirect_uri'])
    expect(idp.requests('revocation')).to.equal(0)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  it('goes to the end-session address that was set by hand, or else below the issuer where the IdP publishes none', async () => {
    const { setup, idp } = await start()
    idp.faults.set('discovery', { kind: 'rewrite', body: without('end_session_endpoint') })
    for (const [issuer, address] of [
      [{ issuer: idp.issuer, end_session_endpoint: 'https://idp.test/bye?x=1' }, 'https://idp.test/bye'],
      [{ issuer: idp.issuer }, `${idp.issuer}/logout`],
    ] as const) {
      const url = await anotherHost(setup, { issuer })
      const person = setup.browser()
      await person.login(url, 'bob', 'bob-demo')
      const target = new URL((await person.step(`${url}logout`)).headers.location!)
      expect(target.origin + target.pathname).to.equal(address)
      expect(target.searchParams.has('id_token_hint')).to.equal(true)
    }
  })

  describe('and the tokens of the session', () => {
    const revoked = (setup: Setup) => setup.idp.requests('revocation')
    const incomplete = (setup: Setup) => setup.authLog.filter(({ event }) => event === 'logout-incomplete')
    const token = (setup: Setup) => {
      let seen = ''
      setup.idp.faults.set('token', {
        kind: 'rewrite',
        body: (original) => {
          seen = String((original as { access_token: string }).access_token)
          return original
        },
      })
      return () => seen
    }

    it('are worthless at the IdP from then on', async () => {
      const { setup, host, idp } = await start()
      const accessToken = token(setup)
      const person = setup.browser()
      await person.login(host.url, 'bob', 'bob-demo')
      const userInfo = async () =>
        (await fetch(`${idp.issuer}/me`, { headers: { authorization: `Bearer ${accessToken()}` } })).status
      expect(await userInfo()).to.equal(200)
      await person.step(`${host.url}logout`)
      expect(await userInfo()).to.equal(401)
      expect(revoked(setup)).to.equal(1)
      expect(incomplete(setup)).to.deep.equal([])
    })

    it('are revoked both when there is a refresh token', async () => {
      const { setup, host, idp } = await start()
      idp.faults.set('token', {
        kind: 'rewrite',
        body: (original) => ({ ...(original as object), refresh_token: 'a refresh token' }),
      })
      const person = setup.browser()
      await person.login(host.url, 'bob', 'bob-demo')
      await person.step(`${host.url}logout`)
      expect(revoked(setup)).to.equal(2)
    })

    it('are not revoked by an IdP that cannot', async () => {
      const { setup, idp } = await start()
      idp.faults.set('discovery', { kind: 'rewrite', body: without('revocation_endpoint') })
      const url = await anotherHost(setup)
      const person = setup.browser()
      await person.login(url, 'bob', 'bob-demo')
      expect((await person.step(`${url}logout`)).status).to.equal(302)
      expect(revoked(setup)).to.equal(0)
    })

    it('may be of a kind that the IdP does not revoke: nothing to complain of', async () => {
      const { setup, host, idp } = await start()
      idp.faults.set('revocation', { kind: 'answer', status: 400, body: '{"error":"unsupported_token_type"}' })
      const person = setup.browser()
      await person.login(host.url, 'bob', 'bob-demo')
      await person.step(`${host.url}logout`)
      expect(revoked(setup)).to.equal(1)
      expect(incomplete(setup)).to.deep.equal([])
    })

    it('keep nobody waiting for more than 2 s, and fail no logout', async () => {
      const { setup, host, idp } = await start()
      for (const [fault, code] of [
        [{ kind: 'hang' }, 'provider_unreachable'],
        [{ kind: 'answer', status: 503 }, 'revocation_failed'],
        [{ kind: 'answer', status: 401, body: '{"error":"invalid_client"}' }, 'revocation_failed'],
        [{ kind: 'reset' }, 'provider_unreachable'],
      ] as const) {
        const person = setup.browser()
        await person.login(host.url, 'bob', 'bob-demo')
        idp.faults.set('revocation', fault)
        const begun = performance.now()
        const { headers } = await person.step(`${host.url}logout`)
        expect(performance.now() - begun).to.be.below(5000)
        expect(new URL(headers.location!).pathname).to.equal('/session/end')
        expect((await whoAmI(person, host.url)).status).to.equal(401)
        expect(incomplete(setup).at(-1)?.fields.code, fault.kind).to.equal(code)
        idp.faults.clear('revocation')
      }
      const everything = JSON.stringify([setup.authLog, setup.output])
      expect(everything).to.not.match(/access_token|eyJ/)
    })
  })
})
