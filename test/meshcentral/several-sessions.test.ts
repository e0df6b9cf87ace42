import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { freePort } from '../../fixtures/free-port.ts'
import type { ControlSocket } from './support/control-socket.ts'
import type { MeshSetup, Person } from './support/mesh-setup.ts'
import { addDevice, openRelay, type RelayEnd } from './support/relay.ts'
import { authCookieOn, isSignedIn, relayCookieOn, signedIn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

/** MeshCentral's cookies that let a page open sockets: one for itself, one for a device. */
interface Sealed {
  readonly auth: string
  readonly rauth: string
}

describe('several sessions of one user in MeshCentral', () => {
  /** The port for agents, which also accepts cookies for tunnels. */
  let agents: { readonly url: string }
  const setup = useMesh(async () => {
    const agentPort = await freePort()
    agents = { url: `https://localhost:${agentPort}/` }
    return { settings: { allowLoginToken: true, agentPort, agentPortBind: '127.0.0.1' } }
  })
  const { keep, open, openAlone, verdictOn } = setup

  const cookiesOf = async (browser: ScriptedBrowser): Promise<Sealed> => {
    const page = await browser.step(setup.url)
    return { auth: authCookieOn(page) ?? '', rauth: relayCookieOn(page) ?? '' }
  }
  /** Requests new cookies, as a page does from time to time. */
  const renewed = async (page: ControlSocket): Promise<Sealed> => {
    const { cookie, rcookie } = await page.ask('authcookie')
    return { auth: String(cookie), rauth: String(rcookie) }
  }
  /** Opens both ends of a new tunnel with these cookies only. */
  const tunnel = ({ auth, rauth }: Sealed, server: Pick<MeshSetup, 'url'> = setup): readonly [RelayEnd, RelayEnd] => {
    const id = randomUUID()
    return [keep(openRelay(server, { id, auth, p: '2' })), keep(openRelay(server, { id, rauth, p: '2' }))]
  }
  const joins = async (sealed: Sealed) => (await tunnel(sealed)[0].verdict()) === 'joined'
  const twoOf = async (person: Person) => [await signedIn(setup, person), await signedIn(setup, person)] as const

  it("a logout leaves tunnels and cookies of the user's other sessions valid", async () => {
    const [ending, remaining] = await twoOf(setup.person())
    const [page, sealed] = [await open(remaining), await cookiesOf(remaining)]
    const fresh = await renewed(page)
    const [userEnd, deviceEnd] = tunnel(sealed)
    expect(await Promise.all([userEnd.verdict(), deviceEnd.verdict()])).to.deep.equal(['joined', 'joined'])
    const socketAlone = openAlone(sealed.auth)
    await socketAlone.message(({ action }) => action === 'userinfo')

    await ending.step(`${setup.url}logout`)
    expect(await isSignedIn(setup, ending)).to.equal(false)
    expect(await deviceEnd.tell(userEnd, 'a picture')).to.equal('a picture')
    expect(page.isOpen()).to.equal(true)
    expect(socketAlone.isOpen()).to.equal(true)
    for (const cookies of [sealed, fresh, await renewed(page), await renewed(socketAlone)]) {
      expect(await verdictOn(cookies.auth)).to.equal('signed in')
      expect(await joins(cookies)).to.equal(true)
    }
  })

  it("a logout invalidates all cookies of a session's pages and closes its tunnels", async () => {
    const [ending, remaining] = await twoOf(setup.person())
    await open(remaining)
    const [page, sealed] = [await open(ending), await cookiesOf(ending)]
    const socketAlone = openAlone(sealed.auth)
    await socketAlone.message(({ action }) => action === 'userinfo')
    const device = await addDevice(page)
    const { cookie: toDevice } = await page.ask('getcookie', { nodeid: device, tcpport: 22 })
    const { cookie: login } = await page.ask('logincookie')
    const all = [sealed, await renewed(page), await renewed(socketAlone)]
    const [userEnd, deviceEnd] = tunnel(sealed)
    await userEnd.verdict()

    await ending.step(`${setup.url}logout`)
    await closes(page, socketAlone, userEnd, deviceEnd)
    for (const { auth, rauth } of all) {
      expect(await verdictOn(auth)).to.equal('refused')
      // The other end may connect, but finds no partner.
      expect(await tunnel({ auth, rauth })[0].verdict()).to.equal('closed')
    }
    expect(await verdictOn(String(toDevice))).to.equal('refused')
    expect(await verdictOn(String(login))).to.equal('refused')
    expect(await isSignedIn(setup, remaining)).to.equal(true)
  })

  it("a logout closes only the session's own tunnels on MeshCentral's agent port", async () => {
    const [ending, remaining] = await twoOf(setup.person())
    const [sealed, remainingCookies] = [await cookiesOf(ending), await cookiesOf(remaining)]
    const [endingTunnel, remainingTunnel] = [tunnel(sealed, agents), tunnel(remainingCookies, agents)]
    expect(await Promise.all([...endingTunnel, ...remainingTunnel].map((end) => end.verdict()))).to.deep.equal(
      Array(4).fill('joined'),
    )

    await ending.step(`${setup.url}logout`)
    await closes(...endingTunnel)
    expect(await tunnel(sealed, agents)[0].verdict()).to.equal('closed')
    expect(await remainingTunnel[0].tell(remainingTunnel[1], 'a picture')).to.equal('a picture')
    const nextTunnel = tunnel(remainingCookies, agents)
    expect(await Promise.all(nextTunnel.map((end) => end.verdict()))).to.deep.equal(['joined', 'joined'])
  })

  it('a logout at the IdP invalidates cookies and closes sockets even after a restart', async () => {
    const [ended, bystander] = [setup.person(), setup.person()]
    const [ending, remaining] = [await signedIn(setup, ended), await signedIn(setup, bystander)]
    const [endingCookies, remainingCookies] = [await cookiesOf(ending), await cookiesOf(remaining)]
    await setup.restart()
    const [endingSocket, remainingSocket] = [openAlone(endingCookies.auth), openAlone(remainingCookies.auth)]
    for (const socket of [endingSocket, remainingSocket]) await socket.message(({ action }) => action === 'userinfo')
    for (const claims of [{ sub: 'nobody' }, { sid: 'no such session' }, { sub: 'nobody', sid: 'no such session' }]) {
      expect(await setup.endSessions(claims)).to.equal(200)
    }
    expect(await verdictOn(endingCookies.auth)).to.equal('signed in')
    expect(endingSocket.isOpen()).to.equal(true)
    expect(await setup.endSessions({ sub: ended.sub })).to.equal(200)
    await closes(endingSocket)
    expect(await verdictOn(endingCookies.auth)).to.equal('refused')
    expect(await verdictOn(remainingCookies.auth)).to.equal('signed in')
    expect(await joins(remainingCookies)).to.equal(true)
    expect(remainingSocket.isOpen()).to.equal(true)
  })

  it("MeshCentral's control socket refuses the auth cookie of a share link's guest", async () => {
    const page = await open(await signedIn(setup, setup.person()))
    const { url } = await page.ask('createDeviceShareLink', {
      ...{ nodeid: await addDevice(page), guestname: 'Guest', p: 2, consent: 0, expire: 60, responseid: 'share' },
    })
    const auth = authCookieOn(await setup.browser().step(String(url))) ?? ''
    expect(auth).not.to.equal('')
    expect(await verdictOn(auth)).to.equal('refused')
  })
})
