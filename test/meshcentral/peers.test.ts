import { expect } from 'chai'
import { openPage } from './support/control-socket.ts'
import type { MeshSetup } from './support/mesh-setup.ts'
import { knowsPerson, usePeers } from './support/peers.ts'
import { isSignedIn, signedIn } from './support/session.ts'
import { until } from './support/until.ts'

/** A peer reads the records every 30 s; on a machine that has much else to do. */
const LIMIT_MS = 180_000

describe('two peers of MeshCentral by its own peering, on mongo-java-server in place of a replica set of MongoDB', () => {
  const peers = usePeers(['one', 'two'], {})

  it('take one login for both, and a back-channel logout at one ends it at the other, with its open pages', async () => {
    const [one, two] = peers as [MeshSetup, MeshSetup]
    const person = one.person()
    const browser = await signedIn(one, person)
    await knowsPerson(two, browser)
    expect(await isSignedIn(two, browser)).to.equal(true)
    const pages = [await openPage(one, browser), await openPage(two, browser)]
    expect(await two.endSessions({ sub: person.sub })).to.be.oneOf([200, 204])
    await until('both pages to be closed', () => pages.every((page) => !page.isOpen()), LIMIT_MS)
    expect(await isSignedIn(one, browser)).to.equal(false)
    expect(await isSignedIn(two, browser)).to.equal(false)
  }).timeout(3 * LIMIT_MS)
})
