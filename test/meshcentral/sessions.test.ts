import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { anyCertificateFetch } from './support/any-certificate-fetch.ts'
import { pluginLines } from './support/auth-log.ts'
import { type ControlSocket, openControl, openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh, userKey } from './support/mesh-setup.ts'
import {
  authCookieOn,
  createLocalAccount,
  isLoginPage,
  isSignedIn,
  messageOn,
  sessionOf,
  signedIn,
  signIn,
  thiefOf,
} from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

const BACKCHANNEL = 'auth-oidc-backchannel-logout'

describe('a session in MeshCentral', () => {
  let setup: MeshSetup
  const pages: ControlSocket[] = []

  before(async () => {
    setup = await setUpMesh({
      settings: { trustedProxy: ['127.0.0.1'] },
      domains: {
        '': { members: { newAccounts: true } },
        other: {},
        local: { oidc: null, members: { newAccounts: true } },
      },
    })
  })
  after(() => setup?.close())
  afterEach(async () => {
    for (const page of pages.splice(0)) page.close()
    setup.idp.forgeTokens()
    await setup.register({})
  })

  const open = async (browser: ScriptedBrowser, domain = '') => {
    const page = await openPage(setup, browser, domain)
    pages.push(page)
    return page
  }
  const openAlone = (auth: string) => {
    const page = openControl(setup, { auth })
    pages.push(page)
    return page
  }
  /** What the server says to a socket that comes with this cookie of MeshCentral's and without a session. */
  const verdictOn = async (auth: string) => {
    const { action, cause } = await openAlone(auth).message((one) => ['userinfo', 'close'].includes(one.action ?? ''))
    return action === 'userinfo' ? 'signed in' : cause
  }
  /** By any method, with the cookies that the browser has; none that come back are kept. */
  const ask = (browser: ScriptedBrowser, address: string, method: string) =>
    anyCertificateFetch(address, { method, headers: { cookie: browser.cookies.header(new URL(address)) ?? '' } })
  const closes = (page: ControlSocket) => until('the server to close the socket', () => !page.isOpen())
  const nowS = () => Math.floor(Date.now() / 1000)
  const tokenFor = (claims: Record<string, unknown>) =>
    setup.idp.sign(
      {
        iss: setup.idp.issuer,
        aud: 'mesh',
        iat: nowS(),
        exp: nowS() + 120,
        jti: randomUUID(),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        ...claims,
      },
      { alg: 'RS256', typ: 'logout+jwt' },
    )
  const tell = async (token: string, domain = '') =>
    (await setup.browser().step(`${setup.urlOf(domain)}${BACKCHANNEL}`, { form: [['logout_token', token]] })).status

  it('is bound to the address that it began at, as MeshCentral does it for its own', async () => {
    const person = setup.person()
    const near = setup.browser('11.22.33.44')
    await signIn(setup, near, person)
    expect(sessionOf(near, setup.url).ip).to.equal('11.22.33.44')
    expect(await isSignedIn(setup, near)).to.equal(true)
    const far = setup.browser('55.66.77.88')
    for (const { name, value } of near.cookies.matching(new URL(setup.url))) {
      far.cookies.plant(new URL(setup.url), name, value)
    }
    expect(await isSignedIn(setup, far)).to.equal(false)
  })

  it('is small, and holds no token', async () => {
    const browser = await signedIn(setup, setup.person({ groups: Array.from({ length: 50 }, (_, n) => `group ${n}`) }))
    const session = sessionOf(browser, setup.url)
    expect(JSON.stringify(session).length).to.be.below(700)
    expect(JSON.stringify(session)).not.to.include('eyJ')
  })

  it('ends with a logout: its cookie, its open pages, and what they open sockets with', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const page = await open(browser)
    expect(await verdictOn(page.auth)).to.equal('signed in')
    const alone = openAlone(page.auth)
    await alone.message(({ action }) => action === 'userinfo')
    const bystander = await open(await signedIn(setup, setup.person()))
    const thief = thiefOf(setup, browser)

    await browser.step(`${setup.url}logout`)
    await Promise.all([closes(page), closes(alone)])
    expect(await isSignedIn(setup, thief)).to.equal(false)
    expect(await verdictOn(page.auth)).to.equal('noauth')
    expect(bystander.isOpen()).to.equal(true)
    const events = await until('the event', async () => {
      const own = (await setup.data.events()).filter(({ userid }) => userid === userKey(person))
      return own.some(({ action }) => action === 'logout') && own
    })
    expect(events.find(({ action }) => action === 'logout')).to.include({ msgid: 2, etype: 'user' })
  })

  it('ends with another login in the same browser: its pages, and what they open sockets with', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const page = await open(browser)
    await signIn(setup, browser, person)
    await closes(page)
    expect(await verdictOn(page.auth)).to.equal('noauth')
    expect((await open(browser)).isOpen()).to.equal(true)
  })

  it('can begin again in the very second of a logout', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    await browser.step(`${setup.url}logout`)
    await signIn(setup, browser, person)
    const page = await open(browser)
    expect(page.user._id).to.equal(userKey(person))
    expect(page.isOpen()).to.equal(true)
  })

  it('goes to the login page at a logout that finds nobody signed in', async () => {
    const page = await setup.browser().get(`${setup.url}logout`)
    expect([isLoginPage(page), page.url]).to.deep.equal([true, `${setup.url}login`])
  })

  it('is kept when a wrong answer comes in, which any page could send', async () => {
    const browser = await signedIn(setup, setup.person())
    for (const query of ['code=x&state=y', 'error=access_denied&state=y']) {
      const { status, headers } = await browser.step(`${setup.url}auth-oidc-callback?${query}`)
      expect([status, headers.location]).to.deep.equal([302, '/'])
      expect(await isSignedIn(setup, browser)).to.equal(true)
    }
    // What bears nothing of an answer is MeshCentral's, which has no such page.
    expect((await browser.step(`${setup.url}auth-oidc-callback`)).status).to.equal(404)
    expect(await isSignedIn(setup, browser)).to.equal(true)
  })

  it('that began with a password ends as MeshCentral ends it, without the IdP', async () => {
    const browser = setup.browser()
    expect(await createLocalAccount(setup, browser, 'localadmin')).to.equal(true)
    const { headers } = await browser.step(`${setup.url}logout`)
    expect(headers.location).to.equal('/login')
    expect(await isSignedIn(setup, browser)).to.equal(false)
  })

  it('of a domain without single sign-on is as it always was', async () => {
    const browser = setup.browser()
    expect(await createLocalAccount(setup, browser, 'local', 'local')).to.equal(true)
    const page = await open(browser, 'local')
    expect(page.user._id).to.equal('user/local/local')
    await browser.step(`${setup.urlOf('local')}logout`)
    expect(await isSignedIn(setup, browser, 'local')).to.equal(false)
  })

  it('ends when the IdP itself says so, pages and all, and no other one with it', async () => {
    await setup.register({
      backchannel_logout_uri: `${setup.url}${BACKCHANNEL}`,
      backchannel_logout_session_required: true,
    })
    const [person, other] = [setup.person(), setup.person()]
    const [browser, elsewhere] = [await signedIn(setup, person), await signedIn(setup, person)]
    const page = await open(browser)
    const bystander = await open(await signedIn(setup, other))
    const asked = await browser.get(`${setup.idp.issuer}/session/end`)
    await browser.submit(asked.forms[0] as NonNullable<(typeof asked.forms)[0]>, {}, 'Yes, sign me out')

    await closes(page)
    expect(await isSignedIn(setup, browser)).to.equal(false)
    expect(await verdictOn(page.auth)).to.equal('noauth')
    expect(await isSignedIn(setup, elsewhere)).to.equal(true)
    expect(bystander.isOpen()).to.equal(true)
    expect((await pluginLines(setup)).filter(({ event }) => event === 'backchannel-logout')).to.have.length(1)
  })

  it('ends with all others of a person when the IdP names the person alone', async () => {
    const person = setup.person()
    const browsers = [await signedIn(setup, person), await signedIn(setup, person)]
    const opened = [await open(browsers[0] as ScriptedBrowser), await open(browsers[1] as ScriptedBrowser)]
    expect(await tell(await tokenFor({ sub: person.sub }))).to.equal(200)
    for (const page of opened) await closes(page)
    for (const browser of browsers) expect(await isSignedIn(setup, browser)).to.equal(false)
    expect(await isSignedIn(setup, await signedIn(setup, person))).to.equal(true)
  })

  it('is not touched by a logout token of another domain, of another client, or that is no token', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const page = await open(browser)
    expect(await tell(await tokenFor({ sub: person.sub }), 'other')).to.equal(200)
    expect(await tell(await tokenFor({ sub: person.sub, aud: 'somebody else' }))).to.equal(400)
    expect(await tell(await tokenFor({ sub: person.sub, nonce: 'n' }))).to.equal(400)
    expect(await tell('not.a.token')).to.equal(400)
    expect(await isSignedIn(setup, browser)).to.equal(true)
    expect(page.isOpen()).to.equal(true)
  })

  it('that was ended stays so after a restart, and so do the cookies of its pages', async () => {
    const [person, other] = [setup.person(), setup.person()]
    const [told, out, stays] = [
      await signedIn(setup, person),
      await signedIn(setup, other),
      await signedIn(setup, other),
    ]
    const [first, second] = [await open(told), await open(out)]
    const [toldCopy, outCopy] = [thiefOf(setup, told), thiefOf(setup, out)]
    expect(await tell(await tokenFor({ sub: person.sub }))).to.equal(200)
    await out.step(`${setup.url}logout`)
    await until('the records', async () => {
      const records = [...(await setup.data.records()).values()]
      return records.filter(({ type }) => type === 'meshcompanion').length >= 4
    })
    await setup.restart()
    expect(await isSignedIn(setup, toldCopy)).to.equal(false)
    expect(await isSignedIn(setup, outCopy)).to.equal(false)
    expect(await verdictOn(first.auth)).to.equal('noauth')
    expect(await verdictOn(second.auth)).to.equal('noauth')
    expect(await isSignedIn(setup, stays)).to.equal(true)
  })

  it('ends as lastingly by whatever address MeshCentral takes for its logout', async () => {
    const thieves = await Promise.all(
      ['logout/', 'LOGOUT', 'Logout/?x=1'].map(async (path) => {
        const browser = await signedIn(setup, setup.person())
        const thief = thiefOf(setup, browser)
        const { headers } = await browser.step(setup.url + path)
        expect(headers.location, path).to.match(/session\/end/)
        expect(await isSignedIn(setup, thief), path).to.equal(false)
        return thief
      }),
    )
    await setup.restart()
    for (const thief of thieves) expect(await isSignedIn(setup, thief)).to.equal(false)
  })

  it('ends as lastingly by the logout of a domain without single sign-on, which has the same cookie', async () => {
    const gone = await Promise.all(
      (['GET', 'HEAD'] as const).map(async (method) => {
        const browser = await signedIn(setup, setup.person())
        const page = await open(browser)
        const thief = thiefOf(setup, browser)
        expect((await ask(browser, `${setup.urlOf('local')}logout`, method)).status).to.equal(302)
        await closes(page)
        expect(await verdictOn(page.auth)).to.equal('noauth')
        expect(await isSignedIn(setup, thief)).to.equal(false)
        return thief
      }),
    )
    await setup.restart()
    for (const thief of gone) expect(await isSignedIn(setup, thief)).to.equal(false)
  })

  it('goes on where somebody asks for the head of its logout alone, or sends what is no logout', async () => {
    const browser = await signedIn(setup, setup.person())
    const page = await open(browser)
    for (const [path, method, status] of [
      ['logout', 'HEAD', 405],
      ['LOGOUT/', 'HEAD', 405],
      ['local/logout', 'POST', 404],
      ['local/logouts', 'GET', 404],
    ] as const) {
      expect((await ask(browser, setup.url + path, method)).status, path).to.equal(status)
      expect(await isSignedIn(setup, browser), path).to.equal(true)
    }
    expect(page.isOpen()).to.equal(true)
  })

  it('that this process has never seen ends too, with the cookies of its pages', async () => {
    const seen: string[] = []
    setup.idp.forgeTokens((token) => {
      seen.push(token)
      return token
    })
    await setup.register({
      backchannel_logout_uri: `${setup.url}${BACKCHANNEL}`,
      backchannel_logout_session_required: true,
    })
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const auth = authCookieOn(await browser.step(setup.url)) ?? ''
    const stays = await signedIn(setup, setup.person())
    const { sid } = decodeJwt(seen[0] ?? '')
    await setup.restart()
    await setup.register({ backchannel_logout_session_required: true })
    expect(await tell(await tokenFor({ sid }))).to.equal(200)
    expect(await verdictOn(auth)).to.equal('noauth')
    expect(await isSignedIn(setup, browser)).to.equal(false)
    expect(await isSignedIn(setup, stays)).to.equal(true)
    expect((await open(stays)).isOpen()).to.equal(true)
  })

  it('of the built-in strategy has to begin once more, since no IdP could end it', async () => {
    await setup.restart({ strategy: 'built-in' })
    const person: Person = setup.person()
    const browser = setup.browser()
    await signIn(setup, browser, person)
    expect(sessionOf(browser, setup.url).userid).to.equal(userKey(person))
    expect(await isSignedIn(setup, browser)).to.equal(true)
    await setup.restart({ strategy: 'ours' })
    expect(await isSignedIn(setup, browser)).to.equal(false)
    const page = await signIn(setup, browser, person)
    expect([messageOn(page), await isSignedIn(setup, browser)]).to.deep.equal([null, true])
  })
})
