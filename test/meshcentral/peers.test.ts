import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { type ControlSocket, openPage } from './support/control-socket.ts'
import { INSTALL_LIMIT_MS } from './support/installation.ts'
import { laboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh } from './support/mesh-setup.ts'
import { type MongoStandIn, startMongoStandIn } from './support/mongo-stand-in.ts'
import { isSignedIn, signedIn, thiefOf } from './support/session.ts'
import { until } from './support/until.ts'

/** A peer reads the records every 30 s; on a machine that has much else to do. */
const READ_LIMIT_MS = 90_000
/** One that was parted tries to come back after 30 s at most, and a little. */
const MEET_LIMIT_MS = 90_000

describe('two peers of MeshCentral by its own peering, on mongo-java-server in place of a replica set of MongoDB', () => {
  let database: MongoStandIn | undefined
  let one: MeshSetup
  let two: MeshSetup

  before(async function () {
    this.timeout(INSTALL_LIMIT_MS + 400_000)
    const { installation, port } = await laboratory()
    // MeshCentral would install it into the folder of somebody else.
    const hasDriver = existsSync(join(installation, 'node_modules/mongodb'))
    const started = hasDriver ? await startMongoStandIn() : 'the installation of MeshCentral has no mongodb@4.17.2'
    if (typeof started === 'string') {
      console.log(`    no peers: ${started}`)
      this.skip()
    }
    database = started
    const second = await freePort()
    const settings = { mongoDb: database.url, mongoDbName: 'mesh', mongoDbChangeStream: true }
    // The first one by name connects to the others.
    const servers = { one: { url: `wss://127.0.0.1:${port}/` }, two: { url: `wss://127.0.0.1:${second}/` } }
    const domains = { '': { oidc: { groups: { siteadmin: ['admins'] } } } }
    one = await setUpMesh({ settings, domains, peers: { serverId: 'one', servers } })
    const peers = { serverId: 'two', servers }
    two = await setUpMesh({ settings, domains, peers, port: second, sharedIdp: one.idp })
    await one.register({
      redirect_uris: [one, two].map(({ url }) => `${url}auth-oidc-callback`),
      post_logout_redirect_uris: [one, two].map(({ url }) => `${url}login`),
    })
  })
  after(async () => {
    await two?.close()
    await one?.close()
    await database?.close()
  })

  /** Site admins are told how many pages a user has open, at all peers. */
  const admin = () => one.person({ groups: ['admins'] })
  const pagesCount = async (page: ControlSocket, { sub }: Person, count: number) => {
    await until(
      `${count} pages, at all peers that are there`,
      async () => {
        const { wssessions } = await page.ask('wssessioncount')
        return (wssessions as Readonly<Record<string, number>>)[`user//~oidc:${sub}`] === count
      },
      MEET_LIMIT_MS,
    )
  }
  /** Open pages of one session at both, once the servers have met. */
  const met = async (browser: ScriptedBrowser, person: Person) => {
    const pages = [await openPage(one, browser), await openPage(two, browser)] as const
    for (const page of pages) await pagesCount(page, person, 2)
    return pages
  }
  const signOutEverywhere = async (server: MeshSetup, { sub }: Person) =>
    expect(await server.endSessions({ sub })).to.be.oneOf([200, 204])

  it('take one login for both, and a back-channel logout at one ends it at the other, with its open pages', async () => {
    const person = admin()
    const browser = await signedIn(one, person)
    expect(await isSignedIn(two, browser)).to.equal(true)
    const pages = await met(browser, person)
    await signOutEverywhere(two, person)
    await until('both pages to be closed', () => pages.every((page) => !page.isOpen()), READ_LIMIT_MS)
    expect(await isSignedIn(one, browser)).to.equal(false)
    expect(await isSignedIn(two, browser)).to.equal(false)
  }).timeout(150_000)

  it('refuse a copy of the cookies of somebody who signed out at the other one', async () => {
    const person = admin()
    const browser = await signedIn(two, person)
    await met(browser, person)
    const thief = thiefOf(one, browser)
    expect(await isSignedIn(one, thief)).to.equal(true)
    await browser.step(`${two.url}logout`)
    await until('the end of the copy', async () => !(await isSignedIn(one, thief)), READ_LIMIT_MS)
  }).timeout(150_000)
})
