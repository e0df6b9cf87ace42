import { get } from 'node:https'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { until } from '../support/until.ts'
import { openSocket } from './support/control-socket.ts'
import { COOKIE_CALLS, cookieCalls } from './support/cookie-calls.ts'
import { alteredProgram } from './support/data-folder.ts'
import { installMeshCentral, OLDER_VERSION } from './support/installation.ts'
import { addDevice, openRelay } from './support/relay.ts'
import { authCookieOn, createLocalAccount, signedIn } from './support/session.ts'
import { multipart, postSplit, urlencoded } from './support/split-post.ts'
import { useMesh } from './support/use-mesh.ts'

const RELAY_HOST = 'other.mesh.test'
const LOCAL = { host: '127.0.0.1', headers: { host: 'localhost' }, rejectUnauthorized: false, agent: false }
/**
 * Logs which cookies the server opens, where, whether they are valid, and what it sends to agents. Every new device
 * gets an agent that never answers. In the domain `more`, MeshCentral has features for which it would install packages
 * if the configuration asked for them. In the domain `local`, new accounts have a second factor.
 */
const SPY = `
  const open = server.decodeCookie
  server.decodeCookie = (sealed, ...more) => {
    const cookie = open(sealed, ...more)
    const [, place] = /([\\w]+\\.js:\\d+):\\d+\\)?$/.exec(new Error().stack.split('\\n')[2]) ?? []
    console.log('opened ' + JSON.stringify({ sealed, place, isGood: cookie !== null }))
    return cookie
  }
  const { more } = server.config.domains
  if (more) Object.assign(more, { newaccountscaptcha: {}, ssh: true })
  server.AddEventDispatch(['*'], { HandleEvent(source, { action, node, userid }) {
    if (action === 'accountcreate' && userid.startsWith('user/local/')) web.users[userid].otpsecret = 'secret'
    if (action !== 'addnode') return
    const send = (text) => console.log('told ' + JSON.stringify({ node: node._id, text }))
    web.wsagents[node._id] = { dbMeshKey: node.meshid, dbNodeKey: node._id, send }
  } })
`
interface Opened {
  readonly sealed: string
  readonly place: string
  readonly isGood: boolean
}
interface Told {
  readonly node: string
  readonly text: string
}

for (const version of ['1.1.55', OLDER_VERSION]) {
  describe(`guests of a share link in MeshCentral ${version}`, () => {
    let installation: string
    const ownAccounts = { oidc: null, members: { newAccounts: true, desktopMultiplex: true } }
    const domains = { '': {}, more: ownAccounts, local: ownAccounts }
    const setup = useMesh(async () => {
      installation = await installMeshCentral(version)
      const settings = { relayDNS: [RELAY_HOST], allowLoginToken: true }
      return { installation, program: await alteredProgram(SPY), domains, settings }
    })
    const logged = <One>(kind: string): readonly One[] =>
      setup
        .server()
        .output()
        .split('\n')
        .flatMap((line) => (line.startsWith(`${kind} {`) ? [JSON.parse(line.slice(kind.length)) as One] : []))
    const openings = (sealed: string) => logged<Opened>('opened').filter((opened) => opened.sealed === sealed)
    const post = (path: string, body: Parameters<typeof postSplit>[2], cookie?: string) =>
      postSplit(setup, path, body, cookie)
    const socketAt = (path: string, query: Readonly<Record<string, string>>) => {
      const url = new URL(path, setup.url)
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      const socket = openSocket(url)
      return setup.keep(Object.assign(socket, { close: () => socket.terminate() }))
    }
    const request = (path: string, base = setup.url, browser: ScriptedBrowser = setup.browser()) =>
      browser.step(new URL(path, base).href)

    /** Signs in a user with two devices who shares one of them. */
    async function share(p: number, more: object = {}) {
      const owner = await signedIn(setup, setup.person())
      const page = await setup.open(owner)
      const [shared, unshared] = [await addDevice(page), await addDevice(page)]
      const { url } = await page.ask('createDeviceShareLink', {
        ...{ nodeid: shared, guestname: 'Guest', p, consent: 0, expire: 60, responseid: 'share', ...more },
      })
      const cookie = authCookieOn(await setup.browser().step(String(url))) ?? ''
      expect(cookie).not.to.equal('')
      return { owner, page, shared, unshared, cookie }
    }

    /** Returns each upload form of MeshCentral with its required fields. */
    const uploads = (auth: string, node: string) =>
      [
        ['uploadfilebatch.ashx', { auth, nodeIds: node, linuxpath: '/root', winpath: 'c:\\' }],
        ['uploadmeshcorefile.ashx', { auth, attrib: node }],
        ['oneclickrecovery.ashx', { auth, attrib: node }],
        ['uploadfile.ashx', { auth, link: 'f' }],
        ['restoreserver.ashx', { auth }],
      ] as const

    it("no MeshCentral route accepts a guest's cookie instead of a user's cookie", async () => {
      const calls = cookieCalls(installation)
      expect(calls.map(({ name }) => name)).to.deep.equal([...COOKIE_CALLS.keys()])
      const { cookie, unshared } = await share(2, { viewOnly: true })
      const browser = await signedIn(setup, setup.person())
      expect(await createLocalAccount(setup, setup.browser(), 'local', 'local')).to.equal(true)

      for (const [path, fields] of uploads(cookie, unshared)) {
        expect(await post(path, multipart(fields)), path).to.equal(401)
      }
      const password = { action: 'login', username: 'local', password: 'a-Password-1' }
      const answers = Promise.all([
        // MeshCentral delays the answers to these requests, so send them in parallel.
        post('local/login', urlencoded(password), `twofactor=${encodeURIComponent(cookie)}`),
        post('local/login', urlencoded({ ...password, token: `cookie=${encodeURIComponent(cookie)}` })),
        post('more/createaccount', urlencoded({ ...password, captchaargs: cookie })),
        post('deleteaccount', urlencoded({ authcookie: cookie })),
        ...['tokenlogin', 'pushlogin'].map((action) => post('login', urlencoded({ action, hwstate: cookie }))),
      ])
      for (const path of [
        `mstsc.html?login=${cookie}`,
        `?login=${cookie}`,
        `more/newAccountCaptcha.ashx?x=${cookie}`,
        `devicefile.ashx?c=${cookie}&f=/etc/passwd`,
        `agentdownload.ashx?c=${cookie}`,
        `meshagents?meshaction=winrouter&auth=${cookie}`,
      ]) {
        expect((await request(path)).status, path).to.be.oneOf([200, 401, 404])
      }
      await request(`mstsc.html?ws=${cookie}`, setup.url, browser)
      const relay = `control-redirect.ashx?n=${unshared}&p=80&appid=1&c=${cookie}`
      expect((await request(relay, `https://${RELAY_HOST}:${setup.port}/`)).status).to.equal(404)
      for (const path of ['meshrelay.ashx', 'devicefile.ashx', 'more/meshrelay.ashx']) {
        socketAt(path, { id: 'of-a-tunnel', p: '2', nodeid: unshared, rauth: cookie })
      }
      socketAt('agenttransfer.ashx', { c: cookie })
      for (const name of ['control', 'webrelay', 'webider', 'meshrelay', 'more/sshrelay', 'more/sshterminalrelay']) {
        socketAt(`${name}.ashx`, { auth: cookie, id: 'of-a-tunnel', p: '5' })
      }
      const desktop = socketAt('mstscrelay.ashx', {})
      desktop.on('open', () => desktop.send(JSON.stringify(['infos', { ip: cookie }])))

      expect((await answers)[3]).to.equal(404)
      const expected = (matches: (place: string) => boolean) =>
        calls.flatMap(({ name, place }) => (COOKIE_CALLS.get(name) === null && matches(place) ? [place] : []))
      const reached = () => [...new Set(openings(cookie).map(({ place }) => place))].toSorted()
      const isOnRelayPort = (place: string) => place.startsWith('webrelayserver.js')
      await until(
        'each place to open the cookie',
        () => reached().length >= expected((place) => !isOnRelayPort(place)).length,
        20_000,
      )
      expect(reached()).to.deep.equal(expected((place) => !isOnRelayPort(place)).toSorted())
      expect(openings(cookie).filter(({ isGood }) => isGood)).to.deep.equal([])

      const relayPort = await freePort()
      await setup.restart({ settings: { relayPort, relayPortBind: '127.0.0.1' } })
      expect((await request(relay, `https://localhost:${relayPort}/`)).status).to.equal(404)
      await until('the web relay to open the cookie', () => reached().length >= expected(isOnRelayPort).length)
      expect(reached()).to.deep.equal(expected(isOnRelayPort))
      expect(openings(cookie).filter(({ isGood }) => isGood)).to.deep.equal([])
    })

    it('the owner of a shared device can upload files to it until the owner signs out', async () => {
      const { owner, page, shared } = await share(2)
      const statuses = async () => {
        const forms = uploads(page.auth, shared).filter(([path]) => !path.startsWith('uploadm'))
        return Promise.all(forms.slice(0, 2).map(([path, fields]) => post(path, multipart(fields))))
      }
      expect(await statuses()).to.deep.equal([200, 200])
      await owner.step(`${setup.url}logout`)
      expect(await statuses()).to.deep.equal([401, 401])
    })

    it('a guest reaches only the shared device, even by manipulated requests', async () => {
      const { cookie, shared, unshared } = await share(6)
      const messagesTo = (node: string) => logged<Told>('told').filter((message) => message.node === node)
      const tunnel = setup.keep(openRelay(setup, { id: 'first', auth: cookie, p: '2', nodeid: unshared }))
      await until('the message about the tunnel', () => messagesTo(shared).length === 1)
      const name = new URLSearchParams({ c: cookie, f: '/etc/passwd', n: unshared.split('/')[2] ?? '' })
      // The agent never answers, so neither does the server.
      const file = get({ ...LOCAL, port: setup.port, path: `/devicefile.ashx?${name}` }).on('error', () =>
        file.destroy(),
      )
      setup.keep({ close: () => void file.destroy() })
      await until('the message about the file', () => messagesTo(shared).length === 2)
      expect(messagesTo(shared).map(({ text }) => (JSON.parse(text) as { readonly type: string }).type)).to.deep.equal([
        'tunnel',
        'tunnel',
      ])
      expect(messagesTo(unshared)).to.deep.equal([])
      expect(tunnel.isOpen()).to.equal(true)
    })

    it('a guest of a shared desktop gets no files, terminal, TCP ports or UDP ports', async () => {
      const { cookie, shared } = await share(2, { viewOnly: true })
      for (const query of [{ p: '5' }, { p: '1' }, { p: '2', tcpport: '22' }, { p: '2', udpport: '53' }]) {
        const tunnel = setup.keep(openRelay(setup, { id: 'of-a-guest', auth: cookie, nodeid: shared, ...query }))
        expect(await tunnel.verdict(), JSON.stringify(query)).to.equal('closed')
      }
      expect((await request(`devicefile.ashx?c=${cookie}&f=/etc/passwd`)).status).to.equal(404)
      expect(logged<Told>('told').filter(({ node }) => node === shared)).to.deep.equal([])
    })
  })
}
