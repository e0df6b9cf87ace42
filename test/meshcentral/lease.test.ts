import { expect } from 'chai'
import { until } from '../support/until.ts'
import { openPage } from './support/control-socket.ts'
import type { MeshSetup } from './support/mesh-setup.ts'
import { knowsPerson, usePeers } from './support/peers.ts'
import { isSignedIn, signedIn } from './support/session.ts'

describe('three peers of MeshCentral on one database', () => {
  const peers = usePeers(
    ['one', 'two', 'three'],
    {
      // About once a second.
      settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes: 0.015 } } },
      // A second renewal with the same refresh token ends the session.
      idp: { rotateRefreshTokens: true },
    },
    { grant_types: ['authorization_code', 'refresh_token'] },
  )

  it('another MeshCentral peer renews a session if the peer that renewed it stops', async () => {
    const [first, second, third] = peers as [MeshSetup, MeshSetup, MeshSetup]
    const { idp } = first
    const renewals = async (more: number) => {
      const countBefore = idp.requests('token')
      await until('the renewals', () => idp.requests('token') >= countBefore + more)
    }
    const browser = await signedIn(third, first.person())
    for (const peer of [first, second]) await knowsPerson(peer, browser)
    const pages = [await openPage(third, browser), await openPage(second, browser), await openPage(first, browser)]
    // Slow enough for the other peers to try as well.
    idp.faults.set('token', { kind: 'slow', ms: 500 })
    await renewals(8)
    expect(pages.map((page) => page.isOpen())).to.deep.equal([true, true, true])

    // Now renew a session that is open on one peer only.
    for (const page of pages) page.close()
    await browser.step(`${first.url}logout`)
    const remaining = await signedIn(third, first.person())
    for (const peer of [first, second]) await knowsPerson(peer, remaining)
    await openPage(third, remaining)
    await renewals(2)
    idp.faults.set('token', { kind: 'hang' })
    await renewals(1)
    const page = await openPage(first, remaining)
    await third.server().stop()
    idp.faults.clear('token')
    await renewals(3)
    expect(page.isOpen()).to.equal(true)
    expect(await isSignedIn(second, remaining)).to.equal(true)
  }).timeout(240_000)
})
