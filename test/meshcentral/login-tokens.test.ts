import { readdirSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { type ControlSocket, openControl } from './support/control-socket.ts'
import { installMeshCentral, OLDER_VERSION } from './support/installation.ts'
import type { Person, ServerOptions } from './support/mesh-setup.ts'
import { isSignedIn, messageOn, signedIn, signIn } from './support/session.ts'
import { closes, type MeshOfTests, useMesh, verdictOf } from './support/use-mesh.ts'

interface Token {
  readonly user: string
  readonly pass: string
}
const base64 = (text: string) => Buffer.from(text).toString('base64')

async function createToken(setup: MeshOfTests, browser: ScriptedBrowser): Promise<Token> {
  const page = await setup.open(browser)
  const { tokenUser, tokenPass } = await page.ask('createLoginToken', { name: 'A tool', expire: 0 })
  return { user: String(tokenUser), pass: String(tokenPass) }
}

async function visit(setup: MeshOfTests, { user, pass }: Token): Promise<ScriptedBrowser> {
  const browser = setup.browser()
  await browser.step(`${setup.url}?${new URLSearchParams({ user, pass }).toString()}`)
  return browser
}

async function postForm(setup: MeshOfTests, { user, pass }: Token): Promise<ScriptedBrowser> {
  const browser = setup.browser()
  const form = Object.entries({ action: 'login', username: user, password: pass })
  await browser.step(`${setup.url}login`, { form })
  return browser
}

/** Opens a socket that signs in by a header, as a tool does. It stays open while the token works. */
function openByHeader(setup: MeshOfTests, value: string): ControlSocket {
  return setup.keep(openControl(setup, { headers: { 'x-meshauth': value } }))
}

/** Every way to sign in with a token. Each resolves to whether it worked. */
const LOGIN_METHODS: Readonly<Record<string, (setup: MeshOfTests, token: Token) => Promise<boolean>>> = {
  'the login form': async (setup, token) => isSignedIn(setup, await postForm(setup, token)),
  'the address of the root page': async (setup, token) => isSignedIn(setup, await visit(setup, token)),
  'the address of a socket': async (setup, token) =>
    (await verdictOf(setup.keep(openControl(setup, { query: { ...token } })))) === 'signed in',
  'the header x-meshauth': async (setup, { user, pass }) =>
    (await verdictOf(openByHeader(setup, `${base64(user)},${base64(pass)}`))) === 'signed in',
  'the order userAuth': async (setup, { user, pass }) => {
    const socket = openByHeader(setup, '*')
    await socket.opened
    socket.send({ action: 'userAuth', username: base64(user), password: base64(pass) })
    return (await verdictOf(socket)) === 'signed in'
  },
}

describe('a login token of a single sign-on account', () => {
  const rules = { required: ['staff'], siteadmin: ['staff'], sync: true }
  const setup = useMesh({ domains: { '': { oidc: { groups: rules } } }, settings: { maxInvalidLogin: false } })

  const tryMethods = async (token: Token) => {
    const results: Record<string, boolean> = {}
    for (const [name, signsIn] of Object.entries(LOGIN_METHODS)) results[name] = await signsIn(setup, token)
    return results
  }
  const eachMethod = (works: boolean) => Object.fromEntries(Object.keys(LOGIN_METHODS).map((name) => [name, works]))
  const refuseLogin = async (person: Person) => {
    const refused = setup.person({ groups: ['others'] }, person)
    expect(messageOn(await signIn(setup, setup.browser(), refused))).to.equal(111)
    return refused
  }

  it('a login that group rules refuse disables login tokens until the next login', async () => {
    const person = setup.person({ groups: ['staff'] })
    const token = await createToken(setup, await signedIn(setup, person))
    expect(await tryMethods(token)).to.deep.equal(eachMethod(true))
    await refuseLogin(person)
    expect(await tryMethods(token)).to.deep.equal(eachMethod(false))
    const record = await setup.account(person, '', ({ siteadmin }) => siteadmin === undefined)
    expect(record.links).to.deep.equal({})
    await setup.restart()
    expect(await tryMethods(token)).to.deep.equal(eachMethod(false))
    const refusals = (await pluginLines(setup)).filter(({ event }) => event === 'login-token-refused')
    // One warning an hour, and one after each start.
    expect(refusals.map(({ level }) => level)).to.deep.equal(['WARN', 'WARN'])
    await signedIn(setup, setup.person({ groups: ['staff'] }, person))
    expect(await tryMethods(token)).to.deep.equal(eachMethod(true))
  })

  it('a refused login ends sessions, pages and sockets opened with login tokens', async () => {
    const [person, otherPerson] = [setup.person({ groups: ['staff'] }), setup.person({ groups: ['staff'] })]
    const token = await createToken(setup, await signedIn(setup, person))
    const otherBrowser = await visit(setup, await createToken(setup, await signedIn(setup, otherPerson)))
    const browsers = [await visit(setup, token), await postForm(setup, token)]
    const pages = await Promise.all(browsers.map((browser) => setup.open(browser)))
    const tool = openByHeader(setup, `${base64(token.user)},${base64(token.pass)}`)
    expect(await verdictOf(tool)).to.equal('signed in')
    await refuseLogin(person)
    await closes(tool, ...pages)
    for (const browser of browsers) expect(await isSignedIn(setup, browser)).to.equal(false)
    for (const { auth } of pages) expect(await setup.verdictOn(auth)).to.equal('refused')
    expect(await isSignedIn(setup, otherBrowser)).to.equal(true)
  })

  it('the status page notes that login tokens have no time limit', async () => {
    const admin = await signedIn(setup, setup.person({ groups: ['staff'] }))
    await createToken(setup, admin)
    // Each view of the page starts a query for the next view.
    const page = await until('the note on the status page', async () => {
      const { body } = await admin.step(`${setup.url}pluginadmin.ashx?pin=meshcompanion`)
      return body.includes('loginTokenDays') && body
    })
    expect(page).to.include('Login tokens of single sign-on accounts have no time limit')
  })

  it('a login that fails because of malformed groups does not disable login tokens', async () => {
    const person = setup.person({ groups: ['staff'] })
    const token = await createToken(setup, await signedIn(setup, person))
    await signIn(setup, setup.browser(), setup.person({ groups: 5 }, person))
    expect(await tryMethods(token)).to.deep.equal(eachMethod(true))
  })
})

describe('settings.plugins.meshcompanion.loginTokenDays', () => {
  const withDays = (loginTokenDays: unknown) => ({
    settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { loginTokenDays } } },
  })
  const setup = useMesh(withDays(2))

  /** Signs a new user in, creates a login token, and restarts the server as if the login was 3 days ago. */
  async function tokenOfOldLogin(options: ServerOptions = {}) {
    const person = setup.person()
    const token = await createToken(setup, await signedIn(setup, person))
    expect(await isSignedIn(setup, await visit(setup, token))).to.equal(true)
    const lastLogins = [...(await setup.data.records())].filter(([key]) => key.startsWith('meshcompanionlogin/seen/'))
    const older = lastLogins.map(([, record]) => ({ ...record, at: Number(record.at) - 3 * 24 * 60 * 60_000 }))
    const lines = older.map((record) => `${JSON.stringify(record)}\n`).join('')
    await setup.restart(options, () => appendFile(join(setup.data.path, 'meshcentral.db'), lines))
    return { person, token }
  }

  it('a login token expires loginTokenDays after a login; the next login restores it', async () => {
    const { person, token } = await tokenOfOldLogin()
    expect(await isSignedIn(setup, await visit(setup, token))).to.equal(false)
    await signedIn(setup, person)
    expect(await isSignedIn(setup, await visit(setup, token))).to.equal(true)
  })

  it('logs an error and applies the shortest limit if loginTokenDays is not a number', async () => {
    const { token } = await tokenOfOldLogin(withDays('30'))
    const lines = (await pluginLines(setup)).filter(({ event }) => event === 'configuration-error')
    expect(lines.map(({ line }) => line).join()).to.include('loginTokenDays')
    expect(await isSignedIn(setup, await visit(setup, token))).to.equal(false)
  })
})

describe("MeshCentral's own checks of login tokens", () => {
  for (const version of [undefined, OLDER_VERSION]) {
    const name = version ?? 'latest version'
    it(`only known lines of MeshCentral's code check login tokens: ${name}`, async () => {
      const folder = join(await installMeshCentral(version), 'node_modules/meshcentral')
      const sources = readdirSync(folder).filter((name) => name.endsWith('.js') && name !== 'meshctrl.js')
      const places = sources.flatMap((name) => {
        const text = readFileSync(join(folder, name), 'utf8')
        return [...text.matchAll(/(?:(?<!passport|ldap|sspi)\.authenticate\(|\(\[?'logintoken-')[^,;]*/g)].map(
          ([call]) => `${name}: ${call}`,
        )
      })
      expect(places.sort()).to.deep.equal(
        [
          "meshuser.js: (['logintoken-' + deluser._id]",
          "meshuser.js: (['logintoken-' + user._id]",
          "webserver.js: ('logintoken-' + name",
          "webserver.js: ('logintoken-' + req.session.loginToken",
          "webserver.js: (['logintoken-' + deluser._id]",
          'webserver.js: .authenticate(Buffer.from(command.username',
          'webserver.js: .authenticate(req.query.user',
          'webserver.js: .authenticate(req.query.user',
          'webserver.js: .authenticate(s[0]',
          'webserver.js: .authenticate(sec.rtuser',
          'webserver.js: .authenticate(sec.tuser',
          "webserver.js: .authenticate(user._id.split('/')[2]",
          'webserver.js: .authenticate(xusername',
        ].sort(),
      )
    })
  }
})
