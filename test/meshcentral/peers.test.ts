import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { openPage } from './support/control-socket.ts'
import type { MeshSetup, Person } from './support/mesh-setup.ts'
import { knowsPerson, usePeers } from './support/peers.ts'
import { isSignedIn, signedIn, thiefOf } from './support/session.ts'
import { until } from './support/until.ts'

/** A peer reads the records every 30 s; on a machine that has much else to do. */
const LIMIT_MS = 180_000

describe('two peers of MeshCentral by its own peering, on mongo-java-server in place of a replica set of MongoDB', () => {
  const peers = usePeers(['one', 'two'], {})
  let one: MeshSetup
  let two: MeshSetup
  before(() => {
    ;[one, two] = peers as [MeshSetup, MeshSetup]
  })

  /** Open pages of one session at both. */
  const pagesOf = async (browser: ScriptedBrowser) =>
    [await openPage(one, browser), await openPage(two, browser)] as const
  const signOutEverywhere = async (server: MeshSetup, { sub }: Person) =>
    expect(await server.endSessions({ sub })).to.be.oneOf([200, 204])

  it('take one login for both, and a back-channel logout at one ends it at the other, with its open pages', async () => {
    const person = one.person()
    const browser = await signedIn(one, person)
    await knowsPerson(two, browser)
    expect(await isSignedIn(two, browser)).to.equal(true)
    const pages = await pagesOf(browser)
    await signOutEverywhere(two, person)
    await until('both pages to be closed', () => pages.every((page) => !page.isOpen()), LIMIT_MS)
    expect(await isSignedIn(one, browser)).to.equal(false)
    expect(await isSignedIn(two, browser)).to.equal(false)
  }).timeout(3 * LIMIT_MS)

  it('refuse a copy of the cookies of somebody who signed out at the other one', async () => {
    const person = one.person()
    const browser = await signedIn(two, person)
    await knowsPerson(one, browser)
    await pagesOf(browser)
    const thief = thiefOf(one, browser)
    expect(await isSignedIn(one, thief)).to.equal(true)
    await browser.step(`${two.url}logout`)
    await until('the end of the copy', async () => !(await isSignedIn(one, thief)), LIMIT_MS)
  }).timeout(3 * LIMIT_MS)
})
