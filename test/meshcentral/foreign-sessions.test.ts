import { createCipheriv, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type ControlSocket, openControl, openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh, userKey } from './support/mesh-setup.ts'
import { authCookieOn, isSignedIn, sessionOf, signedIn, signIn, thiefOf } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

describe('a session that MeshCentral itself begins for somebody of single sign-on', () => {
  let setup: MeshSetup
  const sockets: ControlSocket[] = []

  before(async () => {
    setup = await setUpMesh({ settings: { allowLoginToken: true } })
  })
  after(() => setup?.close())
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.close()
  })

  const keep = <Socket extends ControlSocket>(socket: Socket): Socket => {
    sockets.push(socket)
    return socket
  }
  const open = async (browser: ScriptedBrowser) => keep(await openPage(setup, browser))
  const tokenOf = async (browser: ScriptedBrowser) => {
    const { tokenUser, tokenPass } = await (await open(browser)).ask('createLoginToken', { name: 'A tool', expire: 0 })
    return { user: String(tokenUser), pass: String(tokenPass) }
  }
  const visit = async (query: Readonly<Record<string, string>>) => {
    const browser = setup.browser()
    await browser.step(`${setup.url}?${new URLSearchParams(query).toString()}`)
    return browser
  }
  const login = async (browser: ScriptedBrowser) => String((await (await open(browser)).ask('logincookie')).cookie)
  const verdictOn = async (auth: string) => {
    const { action } = await keep(openControl(setup, { auth })).message(({ action: told = '' }) =>
      ['userinfo', 'close'].includes(told),
    )
    return action === 'userinfo' ? 'signed in' : 'refused'
  }
  const goesOn = async (browser: ScriptedBrowser, person: Person) => {
    expect(sessionOf(browser, setup.url).userid).to.equal(userKey(person))
    const page = await open(browser)
    expect([page.isOpen(), await verdictOn(page.auth)]).to.deep.equal([true, 'signed in'])
  }

  it('goes on by a login token after a logout and a restart: in the address, and at the login page', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const token = await tokenOf(browser)
    const inAddress = await visit(token)
    const atPage = setup.browser()
    await atPage.step(`${setup.url}login`, {
      form: Object.entries({ action: 'login', username: token.user, password: token.pass }),
    })
    await browser.step(`${setup.url}logout`)
    for (const one of [inAddress, atPage]) await goesOn(one, person)
    await setup.restart()
    for (const one of [inAddress, atPage]) await goesOn(one, person)
  })

  it('goes on by a login cookie that somebody with a login token asked for', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const one = await visit({ login: await login(await visit(await tokenOf(browser))) })
    await browser.step(`${setup.url}logout`)
    await goesOn(one, person)
    await setup.restart()
    await goesOn(one, person)
  })

  it('goes on by a login cookie of another program, which has the login key of the server', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const record = (await setup.data.records()).get('LoginCookieEncryptionKey')
    const key = Buffer.from(String(record?.key), 'hex')
    const one = await visit({ login: sealedBy(key, { u: userKey(person), a: 3 }) })
    await browser.step(`${setup.url}logout`)
    await goesOn(one, person)
    await setup.restart()
    await goesOn(one, person)
  })

  it('ends by a login cookie with the session whose page asked for that, and all that came of it', async () => {
    const person = setup.person()
    const [browser, other] = [await signedIn(setup, person), await signedIn(setup, person)]
    const [one, stays] = [await visit({ login: await login(browser) }), await visit({ login: await login(other) })]
    const [page, more] = [await open(one), await visit({ login: await login(one) })]
    await goesOn(more, person)
    await browser.step(`${setup.url}logout`)
    await until('the server to close the page', () => !page.isOpen())
    for (const gone of [one, more]) expect(await isSignedIn(setup, gone)).to.equal(false)
    expect(await verdictOn(page.auth)).to.equal('refused')
    await goesOn(stays, person)
    await setup.restart()
    expect([await isSignedIn(setup, one), await isSignedIn(setup, stays)]).to.deep.equal([false, true])
  })

  it('is one like any other: its logout ends it, and a login in its browser takes its place', async () => {
    const person = setup.person()
    const token = await tokenOf(await signedIn(setup, person))
    const [one, other] = [await visit(token), await visit(token)]
    const thief = thiefOf(setup, one)
    await one.step(`${setup.url}logout`)
    expect([await isSignedIn(setup, one), await isSignedIn(setup, thief)]).to.deep.equal([false, false])
    await signIn(setup, other, person)
    expect(sessionOf(other, setup.url)).to.have.property('oidcSignIn')
    await other.step(`${setup.url}logout`)
    expect(authCookieOn(await other.step(setup.url))).to.equal(undefined)
  })
})

/** A cookie as MeshCentral seals its own. */
function sealedBy(key: Buffer, content: object): string {
  const [iv, time] = [randomBytes(12), Math.floor(Date.now() / 1000)]
  const cipher = createCipheriv('aes-256-gcm', key.subarray(0, 32), iv)
  const sealed = Buffer.concat([cipher.update(JSON.stringify({ ...content, time })), cipher.final()])
  const text = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
  return text.replaceAll('+', '@').replaceAll('/', '$')
}
