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

/** A peer reads the records every 30 s, and one that was parted tries to come back after as long; on a machine that has much else to do. */
const LIMIT_MS = 180_000
const SERVERS = ['one', 'two', 'three'] as const

describe('peers of MeshCentral by its own peering, on mongo-java-server in place of a replica set of MongoDB', () => {
  let database: MongoStandIn | undefined
  const all: MeshSetup[] = []
  let one: MeshSetup
  let two: MeshSetup
  let three: MeshSetup

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
    const ports = [port, await freePort(), await freePort()]
    // The first one by name connects to the others.
    const servers = Object.fromEntries(SERVERS.map((name, at) => [name, { url: `wss://127.0.0.1:${ports[at]}/` }]))
    const settings = {
      ...{ mongoDb: database.url, mongoDbName: 'mesh', mongoDbChangeStream: true },
      // About once a second.
      plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes: 0.015 } },
    }
    const options = { settings, domains: { '': { oidc: { groups: { siteadmin: ['admins'] } } } } }
    for (const [at, serverId] of SERVERS.entries()) {
      const [first] = all
      // A second renewal by the same refresh token ends the session.
      const idp = first ? { sharedIdp: first.idp } : { idp: { rotateRefreshTokens: true } }
      all.push(await setUpMesh({ ...options, ...idp, peers: { serverId, servers }, port: ports[at] ?? 0 }))
    }
    ;[one, two, three] = all as [MeshSetup, MeshSetup, MeshSetup]
    await one.register({
      redirect_uris: all.map(({ url }) => `${url}auth-oidc-callback`),
      post_logout_redirect_uris: all.map(({ url }) => `${url}login`),
      grant_types: ['authorization_code', 'refresh_token'],
    })
  })
  after(async () => {
    for (const server of all.reverse()) await server.close()
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
      LIMIT_MS,
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
    await until('both pages to be closed', () => pages.every((page) => !page.isOpen()), LIMIT_MS)
    expect(await isSignedIn(one, browser)).to.equal(false)
    expect(await isSignedIn(two, browser)).to.equal(false)
  }).timeout(3 * LIMIT_MS)

  it('refuse a copy of the cookies of somebody who signed out at the other one', async () => {
    const person = admin()
    const browser = await signedIn(two, person)
    await met(browser, person)
    const thief = thiefOf(one, browser)
    expect(await isSignedIn(one, thief)).to.equal(true)
    await browser.step(`${two.url}logout`)
    await until('the end of the copy', async () => !(await isSignedIn(one, thief)), LIMIT_MS)
  }).timeout(3 * LIMIT_MS)

  it('renew a session that is open at all of them one at a time, and go on with it within 10 s where the one that was at it is killed', async () => {
    const { idp } = one
    const asked = async (more: number) => {
      const before = idp.requests('token')
      await until('so many renewals', () => idp.requests('token') >= before + more)
    }
    const browser = await signedIn(three, one.person())
    const pages = [await openPage(three, browser), await openPage(two, browser), await openPage(one, browser)]
    // Each takes long enough for the others to come to it as well.
    idp.faults.set('token', { kind: 'slow', ms: 500 })
    await asked(8)
    expect(pages.map((page) => page.isOpen())).to.deep.equal([true, true, true])

    // Of a session that is open there alone.
    for (const page of pages) page.close()
    await browser.step(`${one.url}logout`)
    const left = await signedIn(three, one.person())
    await openPage(three, left)
    await asked(2)
    idp.faults.set('token', { kind: 'hang' })
    await asked(1)
    const page = await openPage(one, left)
    await three.server().stop()
    idp.faults.clear('token')
    await asked(3)
    expect(page.isOpen()).to.equal(true)
    expect(await isSignedIn(two, left)).to.equal(true)
  }).timeout(3 * LIMIT_MS)
})
