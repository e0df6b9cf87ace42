import { createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { onLoopback } from '../support/on-loopback.ts'
import { until } from '../support/until.ts'
import { type ControlSocket, openControl } from './support/control-socket.ts'
import { userKey } from './support/mesh-setup.ts'
import { addDevice } from './support/relay.ts'
import { copyCookies, isSignedIn, sessionOf, signedIn } from './support/session.ts'
import { useMesh, verdictOf } from './support/use-mesh.ts'

const PAGE = 'a device'
const HOST = 'other.mesh.test'

/** Relay requests bypass all handlers in front of MeshCentral's pages. */
for (const place of ['port', 'host name'] as const) {
  describe(`MeshCentral's web relay at its own ${place}`, () => {
    let relayPort: number
    let device: Server
    let devicePort: number
    /** Open connections to the web server of the device. */
    const tunnels = new Set<Socket>()
    const setup = useMesh(async () => {
      relayPort = await freePort()
      device = createServer((socket) => {
        tunnels.add(socket)
        socket.on('error', () => socket.destroy())
        socket.on('close', () => tunnels.delete(socket))
        socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${PAGE.length}\r\n\r\n${PAGE}`))
      })
      devicePort = (await onLoopback(device)).port
      const settings = place === 'port' ? { relayPort, relayPortBind: '127.0.0.1' } : { relayDNS: [HOST] }
      // MeshCentral connects to a device without an agent only if it expects devices in its own network.
      const near = { wanonly: false, amtScanner: false, meshScanner: false }
      return { settings: { ...near, ...settings }, domains: { '': { members: { newAccounts: true } } } }
    })
    after(() => {
      for (const socket of tunnels) socket.destroy()
      device?.close()
    })

    /** The address of the relay, with a slash at the end. */
    const relay = () => (place === 'port' ? `https://localhost:${relayPort}/` : `https://${HOST}:${setup.port}/`)
    /** Returns the address that the page opens in the browser for a device. */
    const addressFor = async (page: ControlSocket, nodeid?: string) => {
      const { rcookie } = await page.ask('authcookie')
      const n = nodeid ?? (await addDevice(page))
      const query = { n, p: String(devicePort), appid: '1', c: String(rcookie) }
      return `${relay()}control-redirect.ashx?${new URLSearchParams(query)}`
    }
    const seenBy = async (browser: ScriptedBrowser) => (await browser.step(relay())).body
    const relayed = async (browser: ScriptedBrowser, address: string) => {
      const { status, headers } = await browser.step(address)
      expect({ status, location: headers.location }).to.deep.equal({ status: 302, location: '/' })
      return seenBy(browser)
    }
    const tunnelOf = async (browser: ScriptedBrowser, address: string) => {
      const tunnelsBefore = new Set(tunnels)
      expect(await relayed(browser, address)).to.equal(PAGE)
      const [tunnel] = [...tunnels].filter((socket) => !tunnelsBefore.has(socket))
      if (!tunnel) throw new Error('no tunnel was made for it')
      return tunnel
    }
    /** Expects the relay's cookies to open nothing on the main server. */
    const expectRefused = async (relayBrowser: ScriptedBrowser) => {
      const browser = setup.browser()
      copyCookies(relayBrowser, relay(), browser, setup.url)
      const verdict = await verdictOf(setup.keep(openControl(setup, { browser })))
      expect(await isSignedIn(setup, browser)).to.equal(false)
      expect(verdict).to.equal('refused')
    }

    it("MeshCentral's own pages refuse a web relay cookie, and a logout invalidates it", async () => {
      const person = setup.person()
      const browser = await signedIn(setup, person)
      const address = await addressFor(await setup.open(browser))
      const visitor = setup.browser()
      expect(await relayed(visitor, address)).to.equal(PAGE)
      expect(sessionOf(visitor, relay()).userid).to.equal(userKey(person))
      await expectRefused(visitor)
      // The refused request does not end the relay session either.
      expect(await seenBy(visitor)).to.equal(PAGE)
      expect(await relayed(browser, address)).to.equal(PAGE)
      expect(await isSignedIn(setup, browser)).to.equal(true)

      await browser.step(`${setup.url}logout`)
      expect(await seenBy(visitor)).not.to.equal(PAGE)
      await expectRefused(visitor)
      await setup.restart()
      await expectRefused(visitor)
      expect((await setup.browser().step(address)).status).to.equal(404)
    })

    it("a share link gives a guest the device's web page even after the owner signs out", async () => {
      const browser = await signedIn(setup, setup.person())
      const page = await setup.open(browser)
      const { url } = await page.ask('createDeviceShareLink', {
        ...{ nodeid: await addDevice(page), guestname: 'Guest', p: 8, port: devicePort, consent: 0, expire: 60 },
        responseid: 'share',
      })
      const guest = setup.browser()
      const { pathname, search } = new URL((await guest.step(String(url))).headers.location ?? '')
      // MeshCentral's own name for the server differs from that of the browsers here.
      expect(await relayed(guest, new URL(pathname + search, relay()).href)).to.equal(PAGE)
      await expectRefused(guest)
      await browser.step(`${setup.url}logout`)
      expect(await seenBy(guest)).to.equal(PAGE)
    })

    it("a logout closes the session's web relay tunnels, and no others", async () => {
      const person = setup.person()
      const [leaver, remaining] = [await signedIn(setup, person), await signedIn(setup, person)]
      const bystander = await signedIn(setup, setup.person())
      const [leaverPage, remainingPage, bystanderPage] = [
        await setup.open(leaver),
        await setup.open(remaining),
        await setup.open(bystander),
      ]
      const shared = await addDevice(remainingPage)
      const remainingTunnel = await tunnelOf(remaining, await addressFor(remainingPage, shared))
      const bystanderTunnel = await tunnelOf(bystander, await addressFor(bystanderPage))
      const leaverTunnel = await tunnelOf(leaver, await addressFor(leaverPage, shared))

      await leaver.step(`${setup.url}logout`)
      await until('the tunnel to be closed', () => !tunnels.has(leaverTunnel))
      expect(tunnels.has(remainingTunnel)).to.equal(true)
      expect(tunnels.has(bystanderTunnel)).to.equal(true)
      expect(await isSignedIn(setup, remaining)).to.equal(true)
      for (const browser of [remaining, bystander]) expect(await seenBy(browser)).to.equal(PAGE)
    })
  })
}
