import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { type ControlSocket, openControl, openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, setUpMesh, userKey } from './support/mesh-setup.ts'
import { addDevice } from './support/relay.ts'
import { isSignedIn, relayCookieOn, sessionOf, signedIn } from './support/session.ts'

useLaboratory()

const PAGE = 'the page of a device'

for (const [name, of] of [
  ['on a port of its own', 'port'],
  ['on a host of its own', 'dns'],
] as const) {
  describe(`the web relay of MeshCentral ${name}`, () => {
    let setup: MeshSetup
    let device: Server
    /** With a slash at the end. */
    let relay: string
    const pages: ControlSocket[] = []

    before(async () => {
      const relayPort = await freePort()
      setup = await setUpMesh({
        settings: {
          ...(of === 'port' ? { relayPort, relayPortBind: '127.0.0.1' } : { relayDNS: 'other.mesh.test' }),
          // Else the server itself leads to no device, and one would need an agent.
          wanonly: false,
        },
        domains: { '': { members: { newAccounts: true } } },
      })
      relay = of === 'port' ? `https://localhost:${relayPort}/` : `https://other.mesh.test:${setup.port}/`
      device = createServer((_req, res) => res.setHeader('Content-Length', PAGE.length).end(PAGE))
      device.listen(0, '127.0.0.1')
      await once(device, 'listening')
    })
    after(async () => {
      await setup?.close()
      device?.close()
      device?.closeAllConnections()
    })
    afterEach(() => {
      for (const page of pages.splice(0)) page.close()
    })

    const open = async (browser: ScriptedBrowser) => {
      const page = await openPage(setup, browser)
      pages.push(page)
      return page
    }
    /** What the page hands to the relay, and where that leads to. */
    const relayedOn = async (browser: ScriptedBrowser): Promise<string> => {
      const node = await addDevice(await open(browser))
      const url = new URL('control-redirect.ashx', relay)
      url.searchParams.set('n', node)
      url.searchParams.set('p', String(portOf(device)))
      url.searchParams.set('appid', '1')
      url.searchParams.set('c', relayCookieOn(await browser.step(setup.url)) ?? '')
      return url.href
    }
    const relayed = async (browser: ScriptedBrowser, address: string) => {
      expect((await browser.step(address)).headers.location).to.equal('/')
      return (await browser.step(relay)).body
    }
    /** What the relay gave goes to the main server. */
    const toMain = (from: ScriptedBrowser): ScriptedBrowser => {
      const browser = setup.browser()
      for (const { name, value } of from.cookies.matching(new URL(relay))) {
        browser.cookies.plant(new URL(setup.url), name, value)
      }
      return browser
    }
    const opensControl = async (browser: ScriptedBrowser) => {
      const socket = openControl(setup, { browser })
      pages.push(socket)
      const { action } = await socket.message((one) => ['userinfo', 'close'].includes(one.action ?? ''))
      return action === 'userinfo'
    }

    const isRefused = async (given: ScriptedBrowser) => {
      const taken = [await isSignedIn(setup, toMain(given)), await opensControl(toMain(given))]
      expect(taken).to.deep.equal([false, false])
    }

    it('leads whoever is signed in to the device, by a cookie that opens nothing else', async () => {
      const person = setup.person()
      const browser = await signedIn(setup, person)
      const address = await relayedOn(browser)
      const given = setup.browser()
      expect(await relayed(given, address)).to.equal(PAGE)
      expect(sessionOf(given, relay).userid).to.equal(userKey(person))
      await isRefused(given)
      // Nor does asking the server so end what it refuses.
      expect((await given.step(relay)).body).to.equal(PAGE)
      expect(await relayed(browser, address)).to.equal(PAGE)
      expect(await isSignedIn(setup, browser)).to.equal(true)
    })

    it('leaves whoever has signed out with nothing, after a restart too', async () => {
      const browser = await signedIn(setup, setup.person())
      const address = await relayedOn(browser)
      const given = setup.browser()
      expect(await relayed(given, address)).to.equal(PAGE)
      await browser.step(`${setup.url}logout`)
      expect((await given.step(relay)).body).not.to.equal(PAGE)
      await isRefused(given)
      await setup.restart()
      await isRefused(given)
      expect((await setup.browser().step(address)).status).to.equal(404)
    })

    it('gives nobody a session of somebody else in place of one that MeshCentral began', async () => {
      const page = await open(await signedIn(setup, setup.person()))
      const { tokenUser, tokenPass } = await page.ask('createLoginToken', { name: 'A tool', expire: 0 })
      const thief = setup.browser()
      await thief.step(`${setup.url}?user=${encodeURIComponent(String(tokenUser))}&pass=${String(tokenPass)}`)
      expect(await isSignedIn(setup, thief)).to.equal(true)
      for (const { name, value } of thief.cookies.matching(new URL(setup.url))) {
        thief.cookies.plant(new URL(relay), name, value)
      }
      const victim = setup.person()
      expect(await relayed(thief, await relayedOn(await signedIn(setup, victim)))).to.equal(PAGE)
      expect(sessionOf(thief, relay).userid).to.equal(userKey(victim))
      await isRefused(thief)
    })

    it('leads a guest to the device that is shared', async () => {
      const browser = await signedIn(setup, setup.person())
      const page = await open(browser)
      const { url } = await page.ask('createDeviceShareLink', {
        ...{ nodeid: await addDevice(page), guestname: 'Guest', p: 8, port: portOf(device), consent: 0, expire: 60 },
        responseid: 'share',
      })
      const guest = setup.browser()
      const { pathname, search } = new URL((await guest.step(String(url))).headers.location ?? '')
      // Its own name for the server is another one than that of the browsers here.
      expect(await relayed(guest, new URL(pathname + search, relay).href)).to.equal(PAGE)
      await isRefused(guest)
      await browser.step(`${setup.url}logout`)
      expect((await guest.step(relay)).body).to.equal(PAGE)
    })
  })
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
