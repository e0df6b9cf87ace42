import { expect } from 'chai'
import { until } from '../support/until.ts'
import { openPage } from './support/control-socket.ts'
import type { MeshSetup } from './support/mesh-setup.ts'
import { knowsPerson, usePeers } from './support/peers.ts'
import { isSignedIn, signedIn } from './support/session.ts'

/** A peer reads the records every 30 s, and later on a busy machine. */
const LIMIT_MS = 180_000

describe('two peers of MeshCentral on mongo-java-server', () => {
  const peers = usePeers(['one', 'two'], {})

  it("a back-channel logout at one peer ends the user's sessions at both peers", async () => {
    const [first, second] = peers as [MeshSetup, MeshSetup]
    const person = first.person()
    const browser = await signedIn(first, person)
    await knowsPerson(second, browser)
    expect(await isSignedIn(second, browser)).to.equal(true)
    const pages = [await openPage(first, browser), await openPage(second, browser)]
    expect(await second.endSessions({ sub: person.sub })).to.be.oneOf([200, 204])
    await until('both pages to be closed', () => pages.every((page) => !page.isOpen()), LIMIT_MS)
    expect(await isSignedIn(first, browser)).to.equal(false)
    expect(await isSignedIn(second, browser)).to.equal(false)
  }).timeout(3 * LIMIT_MS)
})
