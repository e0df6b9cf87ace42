import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { pluginLines } from './support/auth-log.ts'
import { alteredProgram } from './support/data-folder.ts'
import {
  authCookieOn,
  isApp,
  isLoginPage,
  isSignedIn,
  messageOn,
  signedIn,
  signIn,
  thiefOf,
} from './support/session.ts'
import { until } from './support/until.ts'
import { closes, useMesh } from './support/use-mesh.ts'

describe('MeshCentral beside an IdP that is down, slow or hostile', () => {
  const setup = useMesh({ domains: { '': { oidc: { groups: { sync: true } } }, second: {} } })
  afterEach(() => setup.idp.faults.clear())

  it('answers requests that make no sense without a stack trace, and lives on', async () => {
    const browser = setup.browser()
    const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }
    const odd: readonly [
      method: 'GET' | 'POST',
      path: string,
      headers?: Record<string, string>,
      form?: [string, string][],
    ][] = [
      ['GET', 'auth-oidc?return=%E0%A4%A'],
      ['GET', 'auth-oidc?return[a]=b&return=/x'],
      ['GET', 'auth-oidc-callback?state=a&state=b&code[x]=1'],
      ['GET', 'auth-oidc-callback?%E0%A4%A'],
      ['GET', `auth-oidc-callback?code=${'x'.repeat(8_000)}&state=y`],
      ['GET', 'auth-oidc-callback/'],
      ['GET', 'AUTH-OIDC-CALLBACK?code=1'],
      ['POST', 'auth-oidc-callback', { 'content-type': 'application/json' }, [['{', '']]],
      ['POST', 'auth-oidc-callback', { ...urlencoded, 'content-encoding': 'gzip' }, [['a', 'b']]],
      [
        'POST',
        'auth-oidc-callback',
        { 'content-type': `${urlencoded['content-type']}; charset=klingon` },
        [['a', 'b']],
      ],
      ['POST', 'auth-oidc-callback', urlencoded, [['state', 'x'.repeat(300_000)]]],
      ['POST', 'auth-oidc-callback', urlencoded, Array.from({ length: 60 }, (_, n) => [`n${n}`, ''])],
      ['POST', 'auth-oidc-callback', urlencoded, [['__proto__', '1']]],
      ['POST', 'auth-oidc-backchannel-logout', { 'content-type': 'text/plain' }, [['logout_token', 'x']]],
      ['POST', 'auth-oidc-backchannel-logout', urlencoded, [['logout_token', 'x'.repeat(20_000)]]],
      ['POST', 'logout', urlencoded, [['a', 'b']]],
      ['GET', 'auth-oidc-jwks'],
    ]
    for (const [method, path, headers = {}, form] of odd) {
      const { status, body } = await browser.step(`${setup.url}${path}`, { method, headers, ...(form ? { form } : {}) })
      expect(status, path.slice(0, 60)).to.be.below(500)
      expect(body, path.slice(0, 60)).not.to.match(/\bat .*\.js:\d+/)
    }
    browser.cookies.store(new URL(setup.url), ['__Host-oidc-key=%E0%A4%A; Path=/; Secure'])
    browser.cookies.store(new URL(setup.url), ['__Host-oidc-return=%00; Path=/; Secure'])
    expect((await browser.step(`${setup.url}auth-oidc`)).status).to.equal(302)
    expect(setup.server().isUp()).to.equal(true)
    await signedIn(setup, setup.person())
  })

  it('writes nothing of the IdP or of a person to its console, where the launcher acts upon phrases', async () => {
    const before = setup.server().output()
    const person = setup.person({ name: 'Server restart...\nStarting self upgrade to: 1.0; reboot' })
    await signedIn(setup, person)
    const browser = setup.browser()
    const { headers } = await browser.step(`${setup.url}auth-oidc`)
    const state = new URL(headers.location ?? '').searchParams.get('state') ?? ''
    const query = new URLSearchParams({ error: 'Server restart...', error_description: 'Server restart...', state })
    await browser.get(`${setup.url}auth-oidc-callback?${query}`)
    expect(setup.server().output()).to.equal(before)
  })
})

describe('MeshCentral whose IdP is down when it starts', () => {
  const setup = useMesh({
    settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes: '5' } } },
    domains: {
      '': {},
      endpoints: {
        oidc: ({ issuer }) => ({
          issuer: {
            issuer,
            authorization_endpoint: `${issuer}/auth`,
            token_endpoint: `${issuer}/token`,
            userinfo_endpoint: `${issuer}/me`,
            jwks_uri: `${issuer}/jwks`,
            end_session_endpoint: `${issuer}/session/end`,
          },
        }),
      },
      issuerless: { oidc: { issuer: undefined } },
      clientless: { exactly: ({ issuer }) => ({ issuer }) },
    },
  })

  it('comes up, asks again at one log line each until the IdP is there, and signs people in then', async () => {
    await setup.idp.down()
    await setup.restart()
    const before = (await setup.data.authLog()).length
    const failed = async () =>
      (await setup.data.authLog()).slice(before).filter((line) => line.includes('discovery-failed'))
    for (let visits = 0; visits < 3; visits += 1) {
      const page = await setup.browser().get(`${setup.url}auth-oidc`)
      expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 112])
    }
    await until('the line', async () => (await failed()).length > 0)
    await setup.idp.up()
    for (const domain of ['', 'endpoints']) await signedIn(setup, setup.person(), domain)
    expect((await failed()).length).to.be.below(12)
    for (const domain of ['issuerless', 'clientless']) {
      const refused = await setup.browser().get(`${setup.urlOf(domain)}auth-oidc`)
      expect([isLoginPage(refused), messageOn(refused)], domain).to.deep.equal([true, 111])
    }
    expect(setup.server().isUp()).to.equal(true)
    const problems = (await pluginLines(setup)).filter(({ line }) => line.includes('sessionCheckMinutes'))
    expect(problems.map(({ level, event }) => [level, event])).to.deep.include(['ERROR', 'configuration-error'])
  })

  it('sends nobody there who signs out, and says on the login page that the person may still be signed in there', async () => {
    const browser = await signedIn(setup, setup.person())
    await setup.idp.down()
    // From now on nothing is known of it.
    await setup.restart()
    expect(isApp(await browser.step(setup.url))).to.equal(true)
    const page = await browser.get(`${setup.url}logout`)
    expect(page.url).to.equal(`${setup.url}login`)
    expect(page.text).to.include('You are signed out of this server.')
    expect(page.text).to.include('you may still be signed in there')
    expect(isApp(await browser.step(setup.url))).to.equal(false)
    // Once: then the login page is as it always is.
    expect(isLoginPage(await browser.get(page.links[0]?.href ?? ''))).to.equal(true)
  })
})

describe('MeshCentral whose database fails', () => {
  const switches = { Set: join(tmpdir(), `no-set-${process.pid}`), GetAllType: join(tmpdir(), `no-get-${process.pid}`) }
  /** Each fails for records of ours while there is a file of that name. */
  const failing = Object.entries(switches).map(
    ([call, file]) => `{ const genuine = server.db.${call}; server.db.${call} = (of, done) =>
      (of === 'meshcompanion' || of.type === 'meshcompanion') && require('fs').existsSync(${JSON.stringify(file)})
        ? done(new Error('disk')) : genuine(of, done) }`,
  )
  const setup = useMesh(async () => ({ program: await alteredProgram(failing.join('\n')) }))
  afterEach(() => Promise.all(Object.values(switches).map((file) => rm(file, { force: true }))))

  it('says so at a logout, and at a logout token, that it cannot remember, ends the sessions with their pages, and remembers later', async () => {
    const [one, other] = [setup.person(), setup.person()]
    const [own, others] = [await signedIn(setup, one), await signedIn(setup, other)]
    const [ownPage, othersPage] = [await setup.open(own), await setup.open(others)]
    const copies = [thiefOf(setup, own), thiefOf(setup, others)]
    await writeFile(switches.Set, '')
    const { status, body } = await own.step(`${setup.url}logout`)
    expect(status).to.equal(500)
    expect(body).to.include('Signing out did not work')
    await closes(ownPage)
    expect(othersPage.isOpen()).to.equal(true)
    expect(await setup.endSessions({ sub: other.sub })).to.equal(400)
    await closes(othersPage)
    for (const browser of [own, others]) expect(await isSignedIn(setup, browser)).to.equal(false)
    expect((await pluginLines(setup)).some(({ event }) => event === 'logout-failed')).to.equal(true)
    await signedIn(setup, setup.person())

    await rm(switches.Set)
    const remembered = async () =>
      [...(await setup.data.records()).values()].filter(({ type }) => type === 'meshcompanion')
    await until('the records', async () => (await remembered()).length >= 3)
    await setup.restart()
    for (const browser of copies) expect(await isSignedIn(setup, browser)).to.equal(false)
  })

  it('signs nobody in while it cannot tell who has signed out, and lives on', async () => {
    const person = setup.person()
    const before = await signedIn(setup, person)
    const auth = authCookieOn(await before.step(setup.url)) ?? ''
    await setup.restart({}, () => writeFile(switches.GetAllType, ''))
    const { status, headers, body } = await before.step(setup.url)
    expect([status, headers['retry-after'], isApp({ body })]).to.deep.equal([503, '5', false])
    const page = await signIn(setup, setup.browser(), person)
    expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 112])
    expect(await setup.verdictOn(auth)).to.equal('refused')
    const lines = await pluginLines(setup)
    expect(lines.some(({ level, line }) => level === 'ERROR' && line.includes('disk'))).to.equal(true)
    expect(isLoginPage(await setup.browser().step(`${setup.url}login`))).to.equal(true)
  })
})
