import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { findForms } from '../../../fixtures/browser/markup.ts'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Setup, type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { until } from '../../support/until.ts'

const UNPUBLISHED = { publishes: { end_session_endpoint: undefined } }
const OFFLINE = { oidc: { custom: { scope: 'openid offline_access' } } }

describe('logout', () => {
  const startSetup = setups()
  /** Starts a setup and signs a user in. */
  const start = async (options?: SetupOptions, name = 'alice') => {
    const setup = await startSetup(options)
    const { person } = await setup.signIn(name)
    return { ...setup, setup, person }
  }
  const loggedOut = ({ redirectFrom }: Setup, person: ScriptedBrowser) => redirectFrom('logout', person)

  // Shows: plugin 9.2, 9.6.
  // Shows: meshcentral 14.
  it('logout ends the session, then redirects to the IdP with id_token_hint', async () => {
    const { setup, host, idp, person } = await start()
    const url = await loggedOut(setup, person)
    expect(url.origin + url.pathname).to.equal(`${idp.issuer}/session/end`)
    expect(url.searchParams.get('id_token_hint')).to.match(/^eyJ/)
    expect(url.searchParams.get('client_id')).to.equal('mesh')
    expect(url.searchParams.get('post_logout_redirect_uri')).to.equal(`${host.url}login`)
    expect(url.searchParams.get('state')).to.match(/^[\w-]{22}$/)
    expect(await setup.isIn(person)).to.equal(false)
    const next = await loggedOut(setup, (await setup.signIn('bob')).person)
    expect(next.searchParams.get('state')).to.not.equal(url.searchParams.get('state'))
  })

  it('answers 405 to HEAD at the logout route, and keeps the session', async () => {
    const { host, isIn, person } = await start()
    const { status, headers } = await fetch(`${host.url}logout`, {
      method: 'HEAD',
      headers: { cookie: person.cookies.header(new URL(host.url))! },
    })
    expect(status).to.equal(405)
    expect(headers.get('allow')).to.equal('GET, POST')
    expect(await isIn(person)).to.equal(true)
  })

  // Shows: plugin 8.2.
  // Shows: meshcentral 14.
  it('after a logout at the IdP, the next login asks for the password', async () => {
    const { host, person } = await start()
    const [form] = (await person.get(host.url)).forms
    const question = await person.submit(form!)
    const page = await person.submit(question.forms[0]!, {}, 'Yes, sign me out')
    expect(page.url.split('?')[0]).to.equal(`${host.url}login`)
    const next = await person.get(`${host.url}auth-oidc`)
    expect(next.forms[0]?.fields.map(([name]) => name)).to.include('password')
  })

  it('accepts the logout path in any letter case and with a trailing slash', async () => {
    const { host, idp, signIn, isIn, person } = await start()
    expect((await person.step(`${host.url}logout/else`)).status).to.equal(404)
    expect(await isIn(person)).to.equal(true)
    for (const path of ['logout/', 'LOGOUT', 'LogOut/?x=1']) {
      const { headers } = await person.step(host.url + path)
      expect(headers.location?.split('?')[0], path).to.equal(`${idp.issuer}/session/end`)
      expect(await isIn(person), path).to.equal(false)
      await signIn('alice', person)
    }
  })

  // Shows: plugin 2.5.
  // Shows: meshcentral 14.
  it('logout redirects to logouturl exactly as configured', async () => {
    const logouturl = 'https://idp.test/bye?x=1&TargetResource=https%3A%2F%2Fmesh.test%2Flogin'
    const { setup, idp, person } = await start({ oidc: { logouturl }, ...UNPUBLISHED })
    expect((await loggedOut(setup, person)).href).to.equal(logouturl)
    expect(idp.requests('logout')).to.equal(0)
  })

  it('logout redirects to the login page if the browser has no session', async () => {
    const { host, browser } = await startSetup()
    expect((await browser().step(`${host.url}logout`)).headers.location).to.equal('/login')
  })

  // Shows: plugin 9.7.
  it('logout while the IdP is down ends the session, and warns the user', async () => {
    const { setup, host, idp, person } = await start()
    await idp.down()
    const { headers } = await person.step(`${host.url}logout`)
    expect(headers.location).to.equal('/login?failure=signed_out_here')
    expect((await person.get(`${host.url}login?failure=signed_out_here`)).text).to.include(
      'You are signed out of this server. The sign-in service could not be reached, so you may still be signed in there.',
    )
    expect(await setup.isIn(person)).to.equal(false)
    expect(setup.lines('logout-incomplete').map(({ fields }) => fields.code)).to.deep.equal(['provider_unreachable'])
  })

  // Shows: plugin 9.5.
  it('logout posts a long ID token by a form that works without JavaScript', async () => {
    const { host, idp, isIn, signIn } = await start({
      idp: { scopes: { large: ['large'] } },
      oidc: { custom: { scope: 'openid profile large' } },
    })
    const claims = { name: 'Bob "the <builder>', large: 'x'.repeat(4096) }
    idp.setUser({ username: 'bob', password: 'bob-demo', sub: 'u-2000', claims })
    const { person } = await signIn('bob')
    const answer = await person.step(`${host.url}logout`)
    expect(answer.status).to.equal(200)
    expect(answer.headers).to.include({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    const script = /<script>([^<]*)<\/script>/.exec(answer.body)?.[1] ?? ''
    expect(script).to.include('submit()')
    expect(String(answer.headers['content-security-policy']).split('; ')).to.have.members([
      "default-src 'none'",
      `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
      `form-action ${idp.issuer} 'self' https:`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
    const [form, ...otherForms] = findForms(answer.body, answer.url)
    expect(otherForms).to.deep.equal([])
    expect(form).to.include({ action: `${idp.issuer}/session/end`, method: 'POST' })
    expect(form?.buttons).to.have.length(1)
    const fields = Object.fromEntries(form?.fields ?? [])
    expect(fields.id_token_hint).to.match(/^eyJ/).and.to.have.length.above(4096)
    expect(fields).to.include({ client_id: 'mesh', post_logout_redirect_uri: `${host.url}login` })
    expect(fields.state).to.match(/^[\w-]{22}$/)
    expect(await isIn(person)).to.equal(false)
  })

  // Shows: plugin 3.9.
  it('logout redirects to the configured end_session_endpoint with id_token_hint', async () => {
    const issuer = { end_session_endpoint: 'https://idp.test/bye?x=1' }
    const { setup, idp, person } = await start({
      ...UNPUBLISHED,
      oidc: ({ idp }) => ({ issuer: { issuer: idp.issuer, ...issuer } }),
    })
    const target = await loggedOut(setup, person)
    expect(target.origin + target.pathname).to.equal('https://idp.test/bye')
    expect(target.searchParams.get('x')).to.equal('1')
    expect(target.searchParams.has('id_token_hint')).to.equal(true)
    expect(idp.requests('logout')).to.equal(0)
  })

  describe('logout at an IdP without end-session endpoint', () => {
    for (const status of [404, 410]) {
      // Shows: plugin 9.8.
      it(`logout ends on the login page and warns if <issuer>/logout answers ${status}`, async () => {
        const { setup, host, idp, person } = await start(UNPUBLISHED)
        idp.faults.set('logout', { kind: 'answer', status })
        expect((await loggedOut(setup, person)).href).to.equal(`${host.url}login`)
        const missing = setup.lines('end-session-missing')
        expect(missing.map(({ level, fields }) => ({ level, ...fields }))).to.deep.equal([
          { level: 'warn', address: `${idp.issuer}/logout`, status },
        ])
        expect(missing[0]?.message).to.include('`logouturl`')
      })
    }

    for (const [condition, fault] of [
      ['answers with a page', { kind: 'answer', status: 200, body: 'bye' }],
      ['answers 400', { kind: 'answer', status: 400 }],
      ['does not answer in 5 s', { kind: 'hang' }],
    ] as const) {
      // Shows: plugin 3.9, 9.8.
      it(`redirects to <issuer>/logout without id_token_hint if that URL ${condition}`, async () => {
        const { setup, host, idp, clock, person } = await start(UNPUBLISHED)
        idp.faults.set('logout', fault)
        const pending = loggedOut(setup, person)
        if (fault.kind === 'hang') {
          // The tokens are revoked at the same time.
          const isAsked = () => idp.requests('logout') > 0 && idp.requests('revocation') > 0
          await until('the requests', () => isAsked() && clock.waiting(2_000) === 0)
          await clock.pass(5_000)
        }
        const target = await pending
        expect(target.origin + target.pathname).to.equal(`${idp.issuer}/logout`)
        const { state, ...rest } = Object.fromEntries(target.searchParams)
        expect(state).to.be.a('string')
        expect(rest).to.deep.equal({ client_id: 'mesh', post_logout_redirect_uri: `${host.url}login` })
        expect(setup.lines('end-session-missing')).to.deep.equal([])
      })
    }
  })

  describe('token revocation at logout', () => {
    const revoked = ({ idp }: Setup) => idp.requests('revocation')
    /** Signs Bob in with a refresh token. */
    const withRefreshToken = async (options: SetupOptions, changes: object = {}) => {
      const setup = await startSetup(options)
      setup.idp.faults.set('token', {
        kind: 'rewrite',
        body: (original) => ({ ...(original as object), refresh_token: 'a refresh token', ...changes }),
      })
      const { person } = await setup.signIn('bob')
      return { setup, person }
    }

    for (const [scenario, options, granted, count] of [
      ['only the access token before an end-session request', {}, undefined, 1],
      ['access and refresh token without an end-session endpoint', UNPUBLISHED, undefined, 2],
      [
        'access and refresh token if logouturl is configured',
        { oidc: { logouturl: 'https://idp.test/bye' } },
        undefined,
        2,
      ],
      ['access and refresh token if offline_access was granted', {}, 'offline_access', 2],
      ['both if offline_access was requested and perhaps granted', OFFLINE, undefined, 2],
    ] as const) {
      // Shows: plugin 9.4.
      it(`logout revokes tokens: ${scenario}`, async () => {
        const { setup, person } = await withRefreshToken(options, { scope: granted })
        await loggedOut(setup, person)
        expect(revoked(setup)).to.equal(count)
        expect(setup.lines('logout-incomplete')).to.deep.equal([])
      })
    }

    // Shows: plugin 9.3.
    it('logout logs no warning if the IdP supports no revocation', async () => {
      const { setup, idp, person } = await start({ publishes: { revocation_endpoint: undefined } })
      expect((await loggedOut(setup, person)).pathname).to.equal('/session/end')
      expect(idp.requests('revocation')).to.equal(0)
      const unsupported = await start()
      unsupported.idp.faults.set('revocation', { kind: 'error', error: 'unsupported_token_type' })
      await loggedOut(unsupported.setup, unsupported.person)
      expect(unsupported.setup.lines('logout-incomplete')).to.deep.equal([])
    })

    // Shows: plugin 9.3.
    it('logout waits at most 2 s for token revocation, and continues if it fails', async () => {
      const { setup, idp, clock, person } = await start()
      for (const [fault, code, path] of [
        [{ kind: 'hang' }, 'provider_unreachable', '/login'],
        [{ kind: 'reset' }, 'provider_unreachable', '/login'],
        // An IdP that answers is up, even if it answers an error.
        [{ kind: 'answer', status: 503 }, 'revocation_failed', '/session/end'],
        [{ kind: 'answer', status: 401, body: '{"error":"invalid_client"}' }, 'revocation_failed', '/session/end'],
      ] as const) {
        idp.faults.set('revocation', fault)
        const answer = loggedOut(setup, person)
        if (fault.kind === 'hang') await clock.pass(2_000)
        const target = await answer
        expect(target.pathname, fault.kind).to.equal(path)
        expect(target.searchParams.get('failure')).to.equal(path === '/login' ? 'signed_out_here' : null)
        expect(await setup.isIn(person)).to.equal(false)
        expect(setup.lines('logout-incomplete').at(-1)?.fields.code, fault.kind).to.equal(code)
        idp.faults.clear('revocation')
        await setup.signIn('alice', person)
      }
      const everything = JSON.stringify([setup.authLog, setup.output])
      expect(everything).to.not.match(/access_token|eyJ/)
    })

    // Shows: plugin 9.7.
    it('logout redirects to the IdP even if one of two token revocations fails', async () => {
      const lossy: typeof fetch = async (input, init) => {
        if (String(init?.body).includes('token_type_hint=refresh_token'))
          throw new TypeError('fetch failed', { cause: new Error('no connection') })
        return fetch(input, init)
      }
      const { setup, person } = await withRefreshToken({ host: { fetch: lossy } }, { scope: 'openid offline_access' })
      expect((await loggedOut(setup, person)).pathname).to.equal('/session/end')
      expect(setup.lines('logout-incomplete')).to.have.length(1)
    })
  })
})
