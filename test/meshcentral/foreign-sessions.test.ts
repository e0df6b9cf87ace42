import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import { sealedBy } from './support/sealed-cookie.ts'
import { isSignedIn, sessionOf, signedIn, signIn, thiefOf } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

describe('a session begun by a login token or a login cookie', () => {
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
  const loginCookie = async (browser: ScriptedBrowser) =>
    String((await (await setup.open(browser)).ask('logincookie')).cookie)
  const expectAlive = async (browser: ScriptedBrowser, person: Person) => {
    expect(sessionOf(browser, setup.url).userid).to.equal(userKey(person))
    const page = await setup.open(browser)
    expect(page.isOpen()).to.equal(true)
    expect(await setup.verdictOn(page.auth)).to.equal('signed in')
  }

  it('a session begun by a login token outlives the session that created the token', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const token = await tokenOf(browser)
    const tokenInUrl = await visit(token)
    const tokenInForm = setup.browser()
    await tokenInForm.step(`${setup.url}login`, {
      form: Object.entries({ action: 'login', username: token.user, password: token.pass }),
    })
    const fromCookie = await visit({ login: await loginCookie(tokenInUrl) })
    // Another program may know the server's key for login cookies.
    const record = (await setup.data.records()).get('LoginCookieEncryptionKey')
    const key = Buffer.from(String(record?.key), 'hex')
    const fromKey = await visit({ login: sealedBy(key, { u: userKey(person), a: 3 }) })
    await browser.step(`${setup.url}logout`)
    const all = [tokenInUrl, tokenInForm, fromCookie, fromKey]
    for (const session of all) await expectAlive(session, person)
    await setup.restart()
    for (const session of all) await expectAlive(session, person)
  })

  it('a session begun by a login cookie ends with the session that created the cookie', async () => {
    const person = setup.person()
    const [browser, otherSession] = [await signedIn(setup, person), await signedIn(setup, person)]
    const [derived, otherDerived] = [
      await visit({ login: await loginCookie(browser) }),
      await visit({ login: await loginCookie(otherSession) }),
    ]
    const [page, secondDerived] = [await setup.open(derived), await visit({ login: await loginCookie(derived) })]
    await expectAlive(secondDerived, person)
    await browser.step(`${setup.url}logout`)
    await closes(page)
    for (const ended of [derived, secondDerived]) expect(await isSignedIn(setup, ended)).to.equal(false)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
    await expectAlive(otherDerived, person)
    await setup.restart()
    expect(await isSignedIn(setup, derived)).to.equal(false)
    expect(await isSignedIn(setup, otherDerived)).to.equal(true)
  })

  it('a session begun by a login token ends when its browser signs out or in again', async () => {
    const person = setup.person()
    const token = await tokenOf(await signedIn(setup, person))
    const [first, second] = [await visit(token), await visit(token)]
    const thief = thiefOf(setup, first)
    await first.step(`${setup.url}logout`)
    expect(await isSignedIn(setup, first)).to.equal(false)
    expect(await isSignedIn(setup, thief)).to.equal(false)
    await signIn(setup, second, person)
    expect(sessionOf(second, setup.url)).to.have.property('oidcSignIn')
    await second.step(`${setup.url}logout`)
    expect(await isSignedIn(setup, second)).to.equal(false)
  })
})
