import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchChromium, takePicture } from './support/chromium.ts'
import { type ControlSocket, openPage } from './support/control-socket.ts'
import { type Device, needDesktop, startDevice } from './support/device.ts'
import { type MeshSetup, type Person, setUpMesh } from './support/mesh-setup.ts'
import { isSignedIn, signedIn } from './support/session.ts'
import { until } from './support/until.ts'

/** With a picture every second, on a machine that has much else to do. */
const PICTURE_LIMIT_MS = 30_000

describe('a desktop in a browser', () => {
  let browser: Browser
  let mesh: MeshSetup
  let owner: Person
  let page: ControlSocket
  let device: Device
  const contexts: BrowserContext[] = []
  const complaints: string[] = []

  before(async function () {
    this.timeout(400_000)
    const reason = await needDesktop()
    if (reason !== undefined) {
      console.log(`    no desktop: ${reason}`)
      this.skip()
    }
    mesh = await setUpMesh()
    owner = mesh.person({ name: 'Olivia Owner' })
    const away = await signedIn(mesh, owner)
    page = await openPage(mesh, away)
    device = await startDevice(page, async (group) => {
      const { body } = await away.step(`${mesh.url}meshsettings?id=${encodeURIComponent(group)}`)
      return body
    })
    browser = await launchChromium()
  })
  after(async () => {
    page?.close()
    await browser?.close()
    await device?.stop()
    await mesh?.close()
  })
  beforeEach(() => {
    complaints.length = 0
  })
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close()
  })

  const openBrowser = async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
    contexts.push(context)
    context.setDefaultTimeout(20_000)
    const opened = await context.newPage()
    opened.on('pageerror', ({ message }) => complaints.push(message))
    return opened
  }
  /** MeshCentral's page for what is seen of the desktop: a digest of its pixels. */
  const seenOn = async (opened: Page) => {
    const pixels = await opened.evaluate('document.getElementById("Desk").toDataURL()')
    return createHash('sha256').update(String(pixels)).digest('hex')
  }
  /** Resolves once the desktop has changed three times: it shows the time. */
  const isAlive = async (opened: Page) => {
    let last = await seenOn(opened)
    for (let changes = 0; changes < 3; changes += 1) {
      last = await until(
        'another picture of the desktop',
        async () => {
          const now = await seenOn(opened)
          return now !== last && now
        },
        PICTURE_LIMIT_MS,
      )
    }
  }
  const connect = async (opened: Page) => {
    await opened.locator('#connectbutton1').click()
    await until('the tunnel', async () => (await opened.evaluate('desktop?.State')) === 3, PICTURE_LIMIT_MS)
    await isAlive(opened)
  }
  const disconnect = async (opened: Page) => {
    await opened.locator('#disconnectbutton1').click()
    await opened.locator('#deskstatus').getByText('Disconnected').waitFor()
  }
  const stateOf = (opened: Page) => opened.locator('#deskstatus').textContent()

  it('stays up while another session of the same person signs out, and can be opened again in that page', async () => {
    const stays = await openBrowser()
    await stays.goto(`${mesh.url}auth-oidc`)
    await stays.getByLabel('User name').fill(owner.username)
    await stays.getByLabel('Password').fill(owner.password)
    await stays.getByRole('button', { name: 'Sign in' }).click()
    await stays.waitForURL(mesh.url)
    await until(
      'the device',
      () =>
        stays.evaluate(
          `nodes?.some(({ _id, agent }) => _id === ${JSON.stringify(device.id)} && agent.caps & 1) ?? false`,
        ) as Promise<boolean>,
    )
    await stays.evaluate(`gotoDevice(${JSON.stringify(device.id)}, 11)`)
    await connect(stays)

    const leaves = await signedIn(mesh, owner)
    const left = await openPage(mesh, leaves)
    await leaves.step(`${mesh.url}logout`)
    await until('the other page to be closed', () => !left.isOpen())
    expect(await isSignedIn(mesh, leaves)).to.equal(false)
    await isAlive(stays)
    expect(await stateOf(stays)).to.match(/^Connected/)
    await takePicture(stays, 'desktop-beside-a-logout')

    await disconnect(stays)
    await connect(stays)
    expect(complaints).to.deep.equal([])
  })

  it('shared with a guest goes on when whoever shared it signs out everywhere, and can be opened again', async () => {
    const { url } = await page.ask('createDeviceShareLink', {
      ...{ nodeid: device.id, guestname: 'Gus Guest', p: 2, consent: 0, expire: 60, responseid: 'share' },
    })
    const guest = await openBrowser()
    await guest.goto(String(url))
    await connect(guest)

    await mesh.endSessions({ sub: owner.sub })
    await until('the page of the owner to be closed', () => !page.isOpen())
    await isAlive(guest)
    expect(await stateOf(guest)).to.match(/^Connected/)
    await takePicture(guest, 'guest-beside-a-logout')

    await disconnect(guest)
    await connect(guest)
    await guest.reload()
    await connect(guest)
    expect(complaints).to.deep.equal([])
  })
})
