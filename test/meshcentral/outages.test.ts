import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Visit } from '../../fixtures/browser.ts'
import { until } from '../support/until.ts'
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
import { closes, useMesh } from './support/use-mesh.ts'

const FORM = 'application/x-www-form-urlencoded'

describe('MeshCentral beside a hostile IdP', () => {
  const setup = useMesh()

  it('MeshCentral answers malformed requests without a stack trace, and continues', async () => {
    const browser = setup.browser()
    const requests: readonly (readonly [path: string, visit?: Visit])[] = [
      ['auth-oidc?return[a]=b&return=/x'],
      ['auth-oidc-callback?state=a&state=b&code[x]=1'],
      ['auth-oidc-callback?%E0%A4%A'],
      ['auth-oidc-callback', { form: [['{', '']], headers: { 'content-type': 'application/json' } }],
      ['auth-oidc-callback', { form: [['a', 'b']], headers: { 'content-encoding': 'gzip' } }],
      ['auth-oidc-callback', { form: [['a', 'b']], headers: { 'content-type': `${FORM}; charset=klingon` } }],
      ['auth-oidc-callback', { form: [['state', 'x'.repeat(300_000)]] }],
      ['auth-oidc-backchannel-logout', { form: [['logout_token', 'x'.repeat(20_000)]] }],
      ['logout', { form: [['a', 'b']] }],
    ]
    for (const [path, visit] of requests) {
      const { status, body } = await browser.step(setup.url + path, visit)
      const context = `${path} ${JSON.stringify(visit)}`.slice(0, 100)
      expect(status, context).to.be.below(500)
      expect(body, context).not.to.match(/\bat .*\.js:\d+/)
    }
    browser.cookies.store(new URL(setup.url), ['__Host-oidc-key=%E0%A4%A; Path=/; Secure'])
    browser.cookies.store(new URL(setup.url), ['__Host-oidc-return=%00; Path=/; Secure'])
    expect((await browser.step(`${setup.url}auth-oidc`)).status).to.equal(302)
    expect(setup.server().isUp()).to.equal(true)
    await signedIn(setup, setup.person())
  })

  // MeshCentral's launcher acts on certain words in this output.
  it("MeshCentral's console output contains no user name and no error text of the IdP", async () => {
    const outputBefore = setup.server().output()
    const person = setup.person({ name: 'Server restart...\nStarting self upgrade to: 1.0; reboot' })
    await signedIn(setup, person)
    const browser = setup.browser()
    const { headers } = await browser.step(`${setup.url}auth-oidc`)
    const state = new URL(headers.location ?? '').searchParams.get('state') ?? ''
    const query = new URLSearchParams({ error: 'Server restart...', error_description: 'Server restart...', state })
    await browser.get(`${setup.url}auth-oidc-callback?${query}`)
    expect(setup.server().output()).to.equal(outputBefore)
  })
})

describe('MeshCentral with its IdP down at the start', () => {
  const setup = useMesh({
    settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes: '5' } } },
  })

  // Shows: meshcentral 3.
  it('a login shows message 112 until the IdP is up, and then succeeds without restart', async () => {
    await setup.idp.down()
    await setup.restart()
    const countBefore = (await setup.data.authLog()).length
    const discoveryFailures = async () =>
      (await setup.data.authLog()).slice(countBefore).filter((line) => line.includes('discovery-failed'))
    for (let visits = 0; visits < 3; visits += 1) {
      const page = await setup.browser().get(`${setup.url}auth-oidc`)
      expect(isLoginPage(page)).to.equal(true)
      expect(messageOn(page)).to.equal(112)
    }
    await until('the line', async () => (await discoveryFailures()).length > 0)
    await setup.idp.up()
    await signedIn(setup, setup.person())
    expect((await discoveryFailures()).length).to.be.below(12)
    expect(setup.server().isUp()).to.equal(true)
    const problems = (await pluginLines(setup)).filter(({ line }) => line.includes('sessionCheckMinutes'))
    expect(problems.map(({ level, event }) => [level, event])).to.deep.include(['ERROR', 'configuration-error'])
  })

  it('a logout while the IdP is down ends the session, and tells the user', async () => {
    const browser = await signedIn(setup, setup.person())
    await setup.idp.down()
    // After the restart, the IdP's metadata is unknown.
    await setup.restart()
    expect(isApp(await browser.step(setup.url))).to.equal(true)
    const page = await browser.get(`${setup.url}logout`)
    expect(page.url).to.equal(`${setup.url}login`)
    expect(page.text).to.include('You are signed out of this server.')
    expect(page.text).to.include('you may still be signed in there')
    expect(isApp(await browser.step(setup.url))).to.equal(false)
    // The notice appears once.
    expect(isLoginPage(await browser.get(page.links[0]?.href ?? ''))).to.equal(true)
  })
})

describe('MeshCentral with a failing database', () => {
  const switches = { Set: join(tmpdir(), `no-set-${process.pid}`), GetAllType: join(tmpdir(), `no-get-${process.pid}`) }
  /** While the file of a database function exists, the function fails for the plugin's records. */
  const failing = Object.entries(switches).map(
    ([call, file]) => `{ const genuine = server.db.${call}; server.db.${call} = (query, done) =>
      (query === 'meshcompanion' || query.type === 'meshcompanion') && require('fs').existsSync(${JSON.stringify(file)})
        ? done(new Error('disk')) : genuine(query, done) }`,
  )
  const setup = useMesh(async () => ({ program: await alteredProgram(failing.join('\n')) }))
  afterEach(() => Promise.all(Object.values(switches).map((file) => rm(file, { force: true }))))

  it('a logout ends the session even if the database fails, and is stored later', async () => {
    const [owner, otherPerson] = [setup.person(), setup.person()]
    const [browser, otherBrowser] = [await signedIn(setup, owner), await signedIn(setup, otherPerson)]
    const [page, otherPage] = [await setup.open(browser), await setup.open(otherBrowser)]
    const copies = [thiefOf(setup, browser), thiefOf(setup, otherBrowser)]
    await writeFile(switches.Set, '')
    const { status, body } = await browser.step(`${setup.url}logout`)
    expect(status).to.equal(500)
    expect(body).to.include('Signing out did not work')
    await closes(page)
    expect(otherPage.isOpen()).to.equal(true)
    expect(await setup.endSessions({ sub: otherPerson.sub })).to.equal(400)
    await closes(otherPage)
    for (const session of [browser, otherBrowser]) expect(await isSignedIn(setup, session)).to.equal(false)
    expect((await pluginLines(setup)).some(({ event }) => event === 'logout-failed')).to.equal(true)
    await signedIn(setup, setup.person())

    await rm(switches.Set)
    const revocations = async () =>
      [...(await setup.data.records()).values()].filter(({ type }) => type === 'meshcompanion')
    await until('the records', async () => (await revocations()).length >= 3)
    await setup.restart()
    for (const browser of copies) expect(await isSignedIn(setup, browser)).to.equal(false)
  })

  it('refuses sessions and logins while stored session revocations cannot be read', async () => {
    const person = setup.person()
    const earlier = await signedIn(setup, person)
    const auth = authCookieOn(await earlier.step(setup.url)) ?? ''
    await setup.restart({}, () => writeFile(switches.GetAllType, ''))
    const { status, headers, body } = await earlier.step(setup.url)
    expect(status).to.equal(503)
    expect(headers['retry-after']).to.equal('5')
    expect(isApp({ body })).to.equal(false)
    const page = await signIn(setup, setup.browser(), person)
    expect(isLoginPage(page)).to.equal(true)
    expect(messageOn(page)).to.equal(112)
    expect(await setup.verdictOn(auth)).to.equal('refused')
    const lines = await pluginLines(setup)
    expect(lines.some(({ level, line }) => level === 'ERROR' && line.includes('disk'))).to.equal(true)
    expect(isLoginPage(await setup.browser().step(`${setup.url}login`))).to.equal(true)
  })
})
