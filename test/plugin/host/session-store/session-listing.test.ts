import { expect } from 'chai'
import { sharedListing } from '../../../../plugin/host/session-store/session-listing.ts'

describe('listing the sessions of a store', () => {
  let listings: { finish: (entries: readonly string[]) => void; fail: (error: Error) => void }[]
  let list: () => Promise<readonly string[]>
  beforeEach(() => {
    listings = []
    list = sharedListing(() => new Promise<readonly string[]>((finish, fail) => listings.push({ finish, fail })))
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))

  it('runs one listing of a session store at a time; waiting callers share the next', async () => {
    const first = list()
    const waiting = [list(), list(), list()]
    expect(listings).to.have.length(1)
    listings[0]?.finish(['old'])
    expect(await first).to.deep.equal(['old'])
    await settled()
    expect(listings).to.have.length(2)
    listings[1]?.finish(['new'])
    for (const list of waiting) expect(await list).to.deep.equal(['new'])
    void list()
    expect(listings).to.have.length(3)
  })

  it('if listing a session store fails, callers that wait for the next listing succeed', async () => {
    const first = list().catch((error: Error) => error.message)
    const second = list()
    listings[0]?.fail(new Error('the disk is full'))
    expect(await first).to.equal('the disk is full')
    await settled()
    listings[1]?.finish(['fine'])
    expect(await second).to.deep.equal(['fine'])
  })
})
