import { createCipheriv, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import { isSignedIn, sessionOf, signedIn, signIn, thiefOf } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

describe('a session that MeshCentral itself begins for somebody of single sign-on', () => {
  const setup = useMesh({ settings: { allowLoginToken: true } })

  const tokenOf = async (browser: ScriptedBrowser) => {
    const page = await setup.open(browser)
    const { tokenUser, tokenPass } = await page.ask('createLoginToken', { name: 'A tool', expire: 0 })
    return { user: String(tokenUser), pass: String(tokenPass) }
  }
  const visit = async (query: Readonly<Record<string, string>>) => {
    const browser = setup.browser()
    await browser.step(`${setup.url}?${new URLSearchParams(query).toString()}`)
    return browser
  }
  const login = async (browser: ScriptedBrowser) =>
    String((await (await setup.open(browser)).ask('logincookie')).cookie)
  const goesOn = async (browser: ScriptedBrowser, person: Person) => {
    expect(sessionOf(browser, setup.url).userid).to.equal(userKey(person))
    const page = await setup.open(browser)
    expect([page.isOpen(), await setup.verdictOn(page.auth)]).to.deep.equal([true, 'signed in'])
  }

  it('sessions begun by login token or login cookie outlive a logout and a restart', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const token = await tokenOf(browser)
    const inAddress = await visit(token)
    const atPage = setup.browser()
    await atPage.step(`${setup.url}login`, {
      form: Object.entries({ action: 'login', username: token.user, password: token.pass }),
    })
    const byCookie = await visit({ login: await login(inAddress) })
    // Another program has the login key of the server.
    const record = (await setup.data.records()).get('LoginCookieEncryptionKey')
    const key = Buffer.from(String(record?.key), 'hex')
    const byKey = await visit({ login: sealedBy(key, { u: userKey(person), a: 3 }) })
    await browser.step(`${setup.url}logout`)
    const all = [inAddress, atPage, byCookie, byKey]
    for (const one of all) await goesOn(one, person)
    await setup.restart()
    for (const one of all) await goesOn(one, person)
  })

  it('ends by a login cookie with the session whose page asked for that, and all that came of it', async () => {
    const person = setup.person()
    const [browser, other] = [await signedIn(setup, person), await signedIn(setup, person)]
    const [one, stays] = [await visit({ login: await login(browser) }), await visit({ login: await login(other) })]
    const [page, more] = [await setup.open(one), await visit({ login: await login(one) })]
    await goesOn(more, person)
    await browser.step(`${setup.url}logout`)
    await closes(page)
    for (const gone of [one, more]) expect(await isSignedIn(setup, gone)).to.equal(false)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
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
    expect(await isSignedIn(setup, other)).to.equal(false)
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
