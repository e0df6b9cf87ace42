import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { freePort } from '../../fixtures/free-port.ts'
import type { ControlSocket } from './support/control-socket.ts'
import type { MeshSetup, Person } from './support/mesh-setup.ts'
import { addDevice, openRelay, type RelayEnd } from './support/relay.ts'
import { authCookieOn, isSignedIn, relayCookieOn, signedIn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

/** What a page has of MeshCentral's to open sockets with, for itself and for a device. */
interface Sealed {
  readonly auth: string
  readonly rauth: string
}

describe('of several sessions in MeshCentral', () => {
  /** Where agents come in, and whoever has a cookie for a tunnel. */
  let agents: { readonly url: string }
  const setup = useMesh(async () => {
    const agentPort = await freePort()
    agents = { url: `https://localhost:${agentPort}/` }
    return { settings: { allowLoginToken: true, agentPort, agentPortBind: '127.0.0.1' } }
  })
  const { keep, open, openAlone, verdictOn } = setup

  const sealedOn = async (browser: ScriptedBrowser): Promise<Sealed> => {
    const page = await browser.step(setup.url)
    return { auth: authCookieOn(page) ?? '', rauth: relayCookieOn(page) ?? '' }
  }
  /** What a page asks for from time to time. */
  const renewed = async (page: ControlSocket): Promise<Sealed> => {
    const { cookie, rcookie } = await page.ask('authcookie')
    return { auth: String(cookie), rauth: String(rcookie) }
  }
  /** Both ends of a new tunnel, opened with nothing else. */
  const tunnel = ({ auth, rauth }: Sealed, at: Pick<MeshSetup, 'url'> = setup): readonly [RelayEnd, RelayEnd] => {
    const id = randomUUID()
    return [keep(openRelay(at, { id, auth, p: '2' })), keep(openRelay(at, { id, rauth, p: '2' }))]
  }
  const joins = async (sealed: Sealed) => (await tunnel(sealed)[0].verdict()) === 'joined'
  const twoOf = async (person: Person) => [await signedIn(setup, person), await signedIn(setup, person)] as const

  it('one ends by itself: the tunnels of another stay, and new ones are opened with what its page had', async () => {
    const [one, other] = await twoOf(setup.person())
    const [page, sealed] = [await open(other), await sealedOn(other)]
    const fresh = await renewed(page)
    const [person, device] = tunnel(sealed)
    expect(await Promise.all([person.verdict(), device.verdict()])).to.deep.equal(['joined', 'joined'])
    const own = openAlone(sealed.auth)
    await own.message(({ action }) => action === 'userinfo')

    await one.step(`${setup.url}logout`)
    expect(await isSignedIn(setup, one)).to.equal(false)
    expect(await device.tell(person, 'a picture')).to.equal('a picture')
    expect([page.isOpen(), own.isOpen()]).to.deep.equal([true, true])
    for (const cookies of [sealed, fresh, await renewed(page), await renewed(own)]) {
      expect([await verdictOn(cookies.auth), await joins(cookies)]).to.deep.equal(['signed in', true])
    }
  })

  it('each takes along all that its own pages got, over their sockets too, while another goes on', async () => {
    const [one, other] = await twoOf(setup.person())
    await open(other)
    const [page, sealed] = [await open(one), await sealedOn(one)]
    const own = openAlone(sealed.auth)
    await own.message(({ action }) => action === 'userinfo')
    const device = await addDevice(page)
    const { cookie: toDevice } = await page.ask('getcookie', { nodeid: device, tcpport: 22 })
    const { cookie: login } = await page.ask('logincookie')
    const all = [sealed, await renewed(page), await renewed(own)]
    const [person, end] = tunnel(sealed)
    await person.verdict()

    await one.step(`${setup.url}logout`)
    await closes(page, own, person, end)
    for (const { auth, rauth } of all) {
      expect(await verdictOn(auth)).to.equal('refused')
      // The other end is let in, but nobody meets it.
      expect(await tunnel({ auth, rauth })[0].verdict()).to.equal('closed')
    }
    expect(await verdictOn(String(toDevice))).to.equal('refused')
    expect(await verdictOn(String(login))).to.equal('refused')
    expect(await isSignedIn(setup, other)).to.equal(true)
  })

  it('each takes along its tunnels by the port for agents, and those of another stay', async () => {
    const [one, other] = await twoOf(setup.person())
    const [sealed, kept] = [await sealedOn(one), await sealedOn(other)]
    const [own, others] = [tunnel(sealed, agents), tunnel(kept, agents)]
    expect(await Promise.all([...own, ...others].map((end) => end.verdict()))).to.deep.equal(Array(4).fill('joined'))

    await one.step(`${setup.url}logout`)
    await closes(...own)
    expect(await tunnel(sealed, agents)[0].verdict()).to.equal('closed')
    expect(await others[0].tell(others[1], 'a picture')).to.equal('a picture')
    const again = tunnel(kept, agents)
    expect(await Promise.all(again.map((end) => end.verdict()))).to.deep.equal(['joined', 'joined'])
  })

  it('those that an IdP ends after a restart end with what their pages have, and others go on with it', async () => {
    const [ended, other] = [setup.person(), setup.person()]
    const [one, stays] = [await signedIn(setup, ended), await signedIn(setup, other)]
    const [gone, kept] = [await sealedOn(one), await sealedOn(stays)]
    await setup.restart()
    const [own, others] = [openAlone(gone.auth), openAlone(kept.auth)]
    for (const socket of [own, others]) await socket.message(({ action }) => action === 'userinfo')
    for (const claims of [{ sub: 'nobody' }, { sid: 'no such session' }, { sub: 'nobody', sid: 'no such session' }]) {
      expect(await setup.endSessions(claims)).to.equal(200)
    }
    expect([await verdictOn(gone.auth), own.isOpen()]).to.deep.equal(['signed in', true])
    expect(await setup.endSessions({ sub: ended.sub })).to.equal(200)
    await closes(own)
    expect(await verdictOn(gone.auth)).to.equal('refused')
    expect([await verdictOn(kept.auth), await joins(kept), others.isOpen()]).to.deep.equal(['signed in', true, true])
  })

  it('none is open to a guest, who gets no further than to the shared device', async () => {
    const page = await open(await signedIn(setup, setup.person()))
    const { url } = await page.ask('createDeviceShareLink', {
      ...{ nodeid: await addDevice(page), guestname: 'Guest', p: 2, consent: 0, expire: 60, responseid: 'share' },
    })
    const auth = authCookieOn(await setup.browser().step(String(url))) ?? ''
    expect(auth).not.to.equal('')
    expect(await verdictOn(auth)).to.equal('refused')
  })
})
