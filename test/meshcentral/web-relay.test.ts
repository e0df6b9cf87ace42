import { createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { type ControlSocket, openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { addDevice } from './support/relay.ts'
import { isSignedIn, signedIn } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

const HOST = 'other.mesh.test'
/** Where MeshCentral has them: past whatever stands in front of its pages. */
const PLACES = {
  'on a port of its own': {
    settings: (relayPort: number): object => ({ relayPort, relayPortBind: '127.0.0.1' }),
    url: (relayPort: number) => `https://localhost:${relayPort}/`,
  },
  'on a host name of its own': {
    settings: (): object => ({ relayDNS: [HOST] }),
    url: (_relayPort: number, { port }: MeshSetup) => `https://${HOST}:${port}/`,
  },
}

for (const [place, { settings, url }] of Object.entries(PLACES)) {
  describe(`a web relay of MeshCentral ${place}`, () => {
    let setup: MeshSetup
    let relay: string
    let server: Server
    let port: number
    /** What reached the web server of the device, and is there still. */
    const tunnels = new Set<Socket>()
    const pages: ControlSocket[] = []

    before(async () => {
      const relayPort = await freePort()
      server = createServer((socket) => {
        tunnels.add(socket)
        socket.on('error', () => socket.destroy())
        socket.on('close', () => tunnels.delete(socket))
        socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\na device'))
      })
      port = await new Promise((resolve) => {
        server.listen(0, '127.0.0.1', () => {
          const address = server.address()
          resolve(typeof address === 'object' && address ? address.port : 0)
        })
      })
      // MeshCentral goes to a device without an agent by itself only where it counts with devices in its own network.
      const near = { wanonly: false, amtScanner: false, meshScanner: false }
      setup = await setUpMesh({ settings: { ...near, ...settings(relayPort) } })
      relay = url(relayPort, setup)
    })
    after(async () => {
      await setup?.close()
      for (const socket of tunnels) socket.destroy()
      server?.close()
    })
    afterEach(() => {
      for (const page of pages.splice(0)) page.close()
    })

    /** What the page has the browser open for a device. */
    const openRelay = async (browser: ScriptedBrowser, page: ControlSocket, nodeid: string) => {
      const { rcookie } = await page.ask('authcookie')
      const query = new URLSearchParams({ n: nodeid, p: String(port), appid: '1', c: String(rcookie) })
      const { status, headers } = await browser.step(`${relay}control-redirect.ashx?${String(query)}`)
      expect([status, headers.location]).to.deep.equal([302, '/'])
    }
    const seenBy = async (browser: ScriptedBrowser) => (await browser.step(relay)).body
    const tunnelOf = async (browser: ScriptedBrowser) => {
      const before = new Set(tunnels)
      expect(await seenBy(browser)).to.equal('a device')
      const [tunnel] = [...tunnels].filter((one) => !before.has(one))
      if (!tunnel) throw new Error('no tunnel was made for it')
      return tunnel
    }
    const open = async (browser: ScriptedBrowser) => {
      const page = await openPage(setup, browser)
      pages.push(page)
      return page
    }

    it('has its tunnels closed with its session while another of the same person goes on, with its own', async () => {
      const [person, colleague] = [setup.person(), setup.person()]
      const [leaves, stays] = [await signedIn(setup, person), await signedIn(setup, person)]
      const bystander = await signedIn(setup, colleague)
      const [leaving, staying, other] = [await open(leaves), await open(stays), await open(bystander)]
      const device = await addDevice(staying)

      await openRelay(stays, staying, device)
      const own = await tunnelOf(stays)
      await openRelay(bystander, other, await addDevice(other))
      const others = await tunnelOf(bystander)
      await openRelay(leaves, leaving, device)
      const closing = await tunnelOf(leaves)

      await leaves.step(`${setup.url}logout`)
      await until('the tunnel to be closed', () => !tunnels.has(closing))
      expect([tunnels.has(own), tunnels.has(others)]).to.deep.equal([true, true])
      expect(await isSignedIn(setup, stays)).to.equal(true)
      for (const browser of [stays, bystander]) expect(await seenBy(browser)).to.equal('a device')
    })
  })
}
