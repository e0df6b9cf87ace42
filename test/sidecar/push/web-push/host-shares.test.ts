import { expect } from 'chai'
import { HostShares, SLOTS_PER_HOST } from '../../../../sidecar/push/web-push/host-shares.ts'

describe('The slots that one Web Push service may use', () => {
  const full = () => {
    const shares = new HostShares()
    for (let slot = 0; slot < SLOTS_PER_HOST; slot++) expect(shares.enter('hanging.example')).to.equal(undefined)
    return shares
  }

  it('the more pushes wait for a push service, the longer the next push is delayed', () => {
    const shares = full()
    const delays = Array.from({ length: 120 }, () => shares.enter('hanging.example'))
    expect(delays.slice(0, 50)).to.deep.equal(Array(50).fill(500))
    expect(delays.slice(50, 100)).to.deep.equal(Array(50).fill(1000))
    expect(delays.slice(100)).to.deep.equal(Array(20).fill(1500))
  })

  it('a push service that uses all its send slots takes no slots of other services', () => {
    expect(full().enter('working.example')).to.equal(undefined)
  })

  it('a released slot admits one more notification to the same Web Push service', () => {
    const shares = full()
    shares.leave('hanging.example')
    expect(shares.enter('hanging.example')).to.equal(undefined)
    expect(shares.enter('hanging.example')).to.equal(500)
  })
})
