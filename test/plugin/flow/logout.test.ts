import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { findForms } from '../../../fixtures/browser/markup.ts'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { startHost } from '../../../fixtures/host/server.ts'
import type { AuthLogEntry } from '../../../plugin/index.ts'
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
  const anotherHost = async ({ idp, clock }: Setup, oidc: Record<string, unknown> = {}) => {
    const authLog: AuthLogEntry[] = []
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
      clock,
      output: { write: () => undefined },
      authLog: (entry) => authLog.push(entry),
    })
    open.push(host)
    await idp.addClient({ ...CLIENT, redirect_uris: [`${host.url}auth-oidc-callback`] })
    return { url: host.url, authLog }
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
    expect(url.searchParams.get('state')).to.match(/^[\w-]{22}$/)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  it('is none where somebody asks for the head alone, which no logout of the host answers either', async () => {
    const { host, person } = await start()
    const { status, headers } = await fetch(`${host.url}logout`, {
      method: 'HEAD',
      headers: { cookie: person.cookies.header(new URL(host.url))! },
    })
    expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, POST'])
    expect((await whoAmI(person, host.url)).status).to.equal(200)
  })

  it('ends the session at the IdP and comes back to the login page: the next login asks for the password', async () => {
    const { host, person } = await start()
    const [form] = (await person.get(host.url)).forms
    const question = await person.submit(form!)
    const page = await person.submit(question.forms[0]!, {}, 'Yes, sign me out')
    expect(page.url.split('?')[0]).to.equal(`${host.url}login`)
    const next = await person.get(`${host.url}auth-oidc`)
    expect(next.forms[0]?.fields.map(([name]) => name)).to.include('password')
  })

  it('makes a copy of the old session cookie worthless', async () => {
    const { host, person, browser } = await start()
    const cookie = person.cookies.header(new URL(host.url))!
    await person.step(`${host.url}logout`, { method: 'POST' })
    expect((await browser().step(`${host.url}api/me`, { headers: { cookie } })).status).to.equal(401)
  })

  it('is taken in any letter case and with a slash at its end, as the server would take it by itself', async () => {
    for (const path of ['logout/', 'LOGOUT', 'LogOut/?x=1']) {
      const { host, idp, person } = await start()
      const { headers } = await person.step(host.url + path)
      expect(headers.location?.split('?')[0], path).to.equal(`${idp.issuer}/session/end`)
      expect((await whoAmI(person, host.url)).status, path).to.equal(401)
    }
    const { host, person } = await start()
    expect((await person.step(`${host.url}logout/else`)).status).to.equal(404)
    expect((await whoAmI(person, host.url)).status).to.equal(200)
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

  it('sends a state that is another one each time', async () => {
    const { setup, host, person } = await start()
    const other = setup.browser()
    await other.login(host.url, 'bob', 'bob-demo')
    const states = await Promise.all(
      [person, other].map(async (browser) =>
        new URL((await browser.step(`${host.url}logout`)).headers.location!).searchParams.get('state'),
      ),
    )
    expect(new Set(states).size).to.equal(2)
  })

  it('ends the session here even when the IdP is away, and says so on the login page instead of leading there', async () => {
    const { setup, host, idp, person } = await start()
    await idp.down()
    const { headers, status } = await person.step(`${host.url}logout`)
    expect(status).to.equal(302)
    expect(headers.location).to.equal('/login?failure=signed_out_here')
    expect((await person.get(`${host.url}login?failure=signed_out_here`)).text).to.include(
      'You are signed out of this server. The sign-in service could not be reached, so you may still be signed in there.',
    )
    expect((await whoAmI(person, host.url)).status).to.equal(401)
    expect(
      setup.authLog.filter(({ event }) => event === 'logout-incomplete').map(({ fields }) => fields.code),
    ).to.deep.equal(['provider_unreachable'])
  })

  describe('with an ID token that is too long for an address', () => {
    const withLongToken = async () => {
      const started = await start({
        idp: { scopes: { large: ['large'] } },
        oidc: { custom: { scope: 'openid profile large' } },
      })
      const claims = { name: 'Bob "the <builder>', large: 'x'.repeat(4096) }
      started.idp.setUser({ username: 'bob', password: 'bob-demo', sub: 'u-2000', claims })
      const other = started.setup.browser()
      await other.login(started.host.url, 'bob', 'bob-demo')
      return { ...started, other }
    }

    it('goes on by a form that sends itself, and has a button for browsers without script', async () => {
      const { host, idp, other } = await withLongToken()
      const answer = await other.step(`${host.url}logout`)
      expect(answer.status).to.equal(200)
      expect(answer.headers).to.include({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      const [form, ...others] = findForms(answer.body, answer.url)
      expect(others).to.deep.equal([])
      expect(form).to.include({ action: `${idp.issuer}/session/end`, method: 'POST' })
      expect(form?.buttons).to.have.length(1)
      const fields = Object.fromEntries(form?.fields ?? [])
      expect(fields.id_token_hint).to.match(/^eyJ/).and.to.have.length.above(4096)
      expect(fields).to.include({ client_id: 'mesh', post_logout_redirect_uri: `${host.url}login` })
      expect(fields.state).to.match(/^[\w-]{22}$/)
      expect((await whoAmI(other, host.url)).status).to.equal(401)
    })

    it('lets no script run but that one, and no form go anywhere on plain HTTP but to the IdP and back', async () => {
      const { host, idp, other } = await withLongToken()
      const { headers, body } = await other.step(`${host.url}logout`)
      const script = /<script>([^<]*)<\/script>/.exec(body)?.[1] ?? ''
      expect(script).to.include('submit()')
      expect(String(headers['content-security-policy']).split('; ')).to.have.members([
        "default-src 'none'",
        `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
        `form-action ${idp.issuer} 'self' https:`,
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ])
    })

    it('ends the session at the IdP, and comes back', async () => {
      const { host, other } = await withLongToken()
      const question = await other.get(`${host.url}logout`)
      expect(question.text).to.include('Sign out of Example Identity?')
      expect((await other.submit(question.forms[0]!, {}, 'Yes, sign me out')).url.split('?')[0]).to.equal(
        `${host.url}login`,
      )
      const next = await other.get(`${host.url}auth-oidc`)
      expect(next.forms[0]?.fields.map(([name]) => name)).to.include('password')
    })

    it('goes by the address as long as it fits', async () => {
      const { host, person } = await withLongToken()
      const { headers } = await person.step(`${host.url}logout`)
      expect(new URL(headers.location!).searchParams.get('id_token_hint')).to.match(/^eyJ/)
    })
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
    expect([...sent.keys()].toSorted()).to.deep.equal(['client_id', 'post_logout_redirect_uri', 'state'])
    expect(idp.requests('revocation')).to.equal(0)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  it('goes to the end-session address that was set by hand, with a hint of who it was', async () => {
    const { setup, idp } = await start()
    idp.faults.set('discovery', { kind: 'rewrite', body: without('end_session_endpoint') })
    const issuer = { issuer: idp.issuer, end_session_endpoint: 'https://idp.test/bye?x=1' }
    const { url } = await anotherHost(setup, { issuer })
    const person = setup.browser()
    await person.login(url, 'bob', 'bob-demo')
    const target = new URL((await person.step(`${url}logout`)).headers.location!)
    expect(target.origin + target.pathname).to.equal('https://idp.test/bye')
    expect(target.searchParams.get('x')).to.equal('1')
    expect(target.searchParams.has('id_token_hint')).to.equal(true)
    expect(idp.requests('logout')).to.equal(0)
  })

  describe('where the IdP publishes no end-session endpoint', () => {
    const withoutEndpoint = async () => {
      const { setup, idp, clock } = await start()
      idp.faults.set('discovery', { kind: 'rewrite', body: without('end_session_endpoint') })
      const { url, authLog } = await anotherHost(setup)
      const signedIn = async () => {
        const person = setup.browser()
        await person.login(url, 'bob', 'bob-demo')
        return person
      }
      const logOut = async (person: ScriptedBrowser) => (await person.step(`${url}logout`)).headers.location ?? ''
      const missing = () => authLog.filter(({ event }) => event === 'end-session-missing')
      return { idp, clock, signedIn, logOut, missing }
    }

    for (const status of [404, 410]) {
      it(`ends on the login page when there is nothing below the issuer (${status}), at one question and one warning`, async () => {
        const { idp, signedIn, logOut, missing } = await withoutEndpoint()
        idp.faults.set('logout', { kind: 'answer', status })
        const people = [await signedIn(), await signedIn(), await signedIn()]
        expect(idp.requests('logout')).to.equal(0)
        expect(await Promise.all(people.map(logOut))).to.deep.equal(['/login', '/login', '/login'])
        expect(await logOut(await signedIn())).to.equal('/login')
        expect(idp.requests('logout')).to.equal(1)
        expect(missing().map(({ level, fields }) => ({ level, ...fields }))).to.deep.equal([
          { level: 'warn', address: `${idp.issuer}/logout`, status },
        ])
        expect(missing()[0]?.message).to.include('`logouturl`')
      })
    }

    for (const [what, fault] of [
      ['is a page', { kind: 'answer', status: 200, body: 'bye' }],
      ['leads elsewhere', { kind: 'redirect', to: 'https://elsewhere.test/' }],
      ['wants to know more', { kind: 'answer', status: 400 }],
      ['gives no answer in 5 s', { kind: 'hang' }],
    ] as const) {
      it(`goes to what is below the issuer when it ${what}, with nothing of the session, and asks once`, async () => {
        const { idp, clock, signedIn, logOut, missing } = await withoutEndpoint()
        idp.faults.set('logout', fault)
        for (const time of ['first', 'second']) {
          const left = logOut(await signedIn())
          if (fault.kind === 'hang' && time === 'first') {
            // The tokens are revoked meanwhile.
            const isAsked = () => idp.requests('logout') > 0 && idp.requests('revocation') > 0
            while (!isAsked() || clock.waiting(2_000) > 0) await new Promise(setImmediate)
            await clock.pass(5_000)
          }
          const target = new URL(await left)
          expect(target.origin + target.pathname).to.equal(`${idp.issuer}/logout`)
          expect([...target.searchParams.keys()].sort()).to.deep.equal([
            'client_id',
            'post_logout_redirect_uri',
            'state',
          ])
          expect(target.searchParams.get('post_logout_redirect_uri')).to.match(/\/login$/)
        }
        expect(idp.requests('logout')).to.equal(1)
        expect(missing()).to.deep.equal([])
      })
    }
  })

  it('asks for nothing below the issuer where logouturl is set', async () => {
    const { host, idp, person } = await start({ oidc: { newAccounts: true, logouturl: 'https://idp.test/bye' } })
    await person.step(`${host.url}logout`)
    expect(idp.requests('logout')).to.equal(0)
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

    const withRefreshToken = (setup: Setup, changes: object = {}) =>
      setup.idp.faults.set('token', {
        kind: 'rewrite',
        body: (original) => ({ ...(original as object), refresh_token: 'a refresh token', ...changes }),
      })

    it('are the access token alone where the browser goes on to the end-session endpoint: the other keeps the session there', async () => {
      for (const logouturl of [undefined, '/session/end?client_id=mesh&from=here']) {
        const { setup, host, idp } = await start(
          logouturl === undefined ? {} : { oidc: ({ idp: { issuer } }) => ({ logouturl: issuer + logouturl }) },
        )
        withRefreshToken(setup)
        const person = setup.browser()
        await person.login(host.url, 'bob', 'bob-demo')
        const { location = '' } = (await person.step(`${host.url}logout`)).headers
        expect(location).to.match(new RegExp(`^${idp.issuer}/session/end`))
        expect(revoked(setup)).to.equal(1)
      }
    })

    for (const [what, granted, scope] of [
      ['was granted', { scope: 'openid offline_access' }, 'openid'],
      ['was asked for, and the IdP does not say what it granted', { scope: undefined }, 'openid offline_access'],
    ] as const) {
      it(`are revoked both where offline_access ${what}: the refresh token outlives the session`, async () => {
        const { setup, host } = await start({ oidc: { newAccounts: true, custom: { scope } } })
        withRefreshToken(setup, granted)
        const person = setup.browser()
        await person.login(host.url, 'bob', 'bob-demo')
        await person.step(`${host.url}logout`)
        expect(revoked(setup)).to.equal(2)
      })
    }

    it('are the access token alone where offline_access was asked for and not granted', async () => {
      const { setup, host } = await start({ oidc: { newAccounts: true, custom: { scope: 'openid offline_access' } } })
      withRefreshToken(setup, { scope: 'openid' })
      const person = setup.browser()
      await person.login(host.url, 'bob', 'bob-demo')
      await person.step(`${host.url}logout`)
      expect(revoked(setup)).to.equal(1)
    })

    it('are revoked both where no end-session endpoint ends the session there', async () => {
      const { setup, idp } = await start()
      idp.faults.set('discovery', { kind: 'rewrite', body: without('end_session_endpoint') })
      withRefreshToken(setup)
      const elsewhere = { logouturl: 'https://idp.test/bye' }
      for (const [oidc, location] of [
        [{}, '/login'],
        [elsewhere, elsewhere.logouturl],
      ] as const) {
        const before = revoked(setup)
        const { url } = await anotherHost(setup, oidc)
        const person = setup.browser()
        await person.login(url, 'bob', 'bob-demo')
        expect((await person.step(`${url}logout`)).headers.location).to.equal(location)
        expect(revoked(setup) - before).to.equal(2)
      }
    })

    it('are not revoked by an IdP that cannot', async () => {
      const { setup, idp } = await start()
      idp.faults.set('discovery', { kind: 'rewrite', body: without('revocation_endpoint') })
      const { url } = await anotherHost(setup)
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
      const { setup, host, idp, clock } = await start()
      for (const [fault, code, path] of [
        [{ kind: 'hang' }, 'provider_unreachable', '/login'],
        [{ kind: 'reset' }, 'provider_unreachable', '/login'],
        // An IdP that answers is not away, whatever it says.
        [{ kind: 'answer', status: 503 }, 'revocation_failed', '/session/end'],
        [{ kind: 'answer', status: 401, body: '{"error":"invalid_client"}' }, 'revocation_failed', '/session/end'],
      ] as const) {
        const person = setup.browser()
        await person.login(host.url, 'bob', 'bob-demo')
        idp.faults.set('revocation', fault)
        const answer = person.step(`${host.url}logout`)
        if (fault.kind === 'hang') await clock.pass(2_000)
        const { headers } = await answer
        const target = new URL(headers.location!, host.url)
        expect(target.pathname, fault.kind).to.equal(path)
        expect(target.searchParams.get('failure')).to.equal(path === '/login' ? 'signed_out_here' : null)
        expect((await whoAmI(person, host.url)).status).to.equal(401)
        expect(incomplete(setup).at(-1)?.fields.code, fault.kind).to.equal(code)
        idp.faults.clear('revocation')
      }
      const everything = JSON.stringify([setup.authLog, setup.output])
      expect(everything).to.not.match(/access_token|eyJ/)
    })

    it('of which one was answered show that the IdP is there', async () => {
      const lossy: typeof fetch = async (input, init) => {
        if (String(init?.body).includes('token_type_hint=refresh_token'))
          throw new TypeError('fetch failed', { cause: new Error('no connection') })
        return fetch(input, init)
      }
      const { setup, host } = await start({ host: { fetch: lossy } })
      withRefreshToken(setup, { scope: 'openid offline_access' })
      const person = setup.browser()
      await person.login(host.url, 'bob', 'bob-demo')
      const { location = '' } = (await person.step(`${host.url}logout`)).headers
      expect(new URL(location).pathname).to.equal('/session/end')
      expect(incomplete(setup)).to.have.length(1)
    })
  })
})
