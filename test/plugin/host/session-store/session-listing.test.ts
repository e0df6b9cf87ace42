import { expect } from 'chai'
import { sharedListing } from '../../../../plugin/host/session-store/session-listing.ts'

describe('listing the sessions of a store', () => {
  let begun: { finish: (entries: readonly string[]) => void; fail: (error: Error) => void }[]
  let list: () => Promise<readonly string[]>
  beforeEach(() => {
    begun = []
    list = sharedListing(() => new Promise<readonly string[]>((finish, fail) => begun.push({ finish, fail })))
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))

  it('is done once at a time: all that ask meanwhile share the next list, which begins after their question', async () => {
    const first = list()
    const others = [list(), list(), list()]
    expect(begun).to.have.length(1)
    begun[0]?.finish(['old'])
    expect(await first).to.deep.equal(['old'])
    await settled()
    expect(begun).to.have.length(2)
    begun[1]?.finish(['new'])
    for (const other of others) expect(await other).to.deep.equal(['new'])
    void list()
    expect(begun).to.have.length(3)
  })

  it('fails only those who share the list that failed', async () => {
    const first = list().catch((error: Error) => error.message)
    const second = list()
    begun[0]?.fail(new Error('the disk is full'))
    expect(await first).to.equal('the disk is full')
    await settled()
    begun[1]?.finish(['fine'])
    expect(await second).to.deep.equal(['fine'])
  })
})
