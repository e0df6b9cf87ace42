import { expect } from 'chai'
import { openPage } from './support/control-socket.ts'
import type { MeshSetup } from './support/mesh-setup.ts'
import { knowsPerson, usePeers } from './support/peers.ts'
import { isSignedIn, signedIn } from './support/session.ts'
import { until } from './support/until.ts'

describe('three peers of MeshCentral on one database', () => {
  const peers = usePeers(
    ['one', 'two', 'three'],
    {
      // About once a second.
      settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes: 0.015 } } },
      // A second renewal by the same refresh token ends the session.
      idp: { rotateRefreshTokens: true },
    },
    { grant_types: ['authorization_code', 'refresh_token'] },
  )

  it('peers renew a session one at a time, and take over within 10 s from a killed one', async () => {
    const [one, two, three] = peers as [MeshSetup, MeshSetup, MeshSetup]
    const { idp } = one
    const asked = async (more: number) => {
      const before = idp.requests('token')
      await until('so many renewals', () => idp.requests('token') >= before + more)
    }
    const browser = await signedIn(three, one.person())
    for (const peer of [one, two]) await knowsPerson(peer, browser)
    const pages = [await openPage(three, browser), await openPage(two, browser), await openPage(one, browser)]
    // Each takes long enough for the others to come to it as well.
    idp.faults.set('token', { kind: 'slow', ms: 500 })
    await asked(8)
    expect(pages.map((page) => page.isOpen())).to.deep.equal([true, true, true])

    // Of a session that is open there alone.
    for (const page of pages) page.close()
    await browser.step(`${one.url}logout`)
    const left = await signedIn(three, one.person())
    for (const peer of [one, two]) await knowsPerson(peer, left)
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
  }).timeout(240_000)
})
