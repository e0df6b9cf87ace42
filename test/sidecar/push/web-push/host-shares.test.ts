import { expect } from 'chai'
import { HostShares, SLOTS_PER_HOST } from '../../../../sidecar/push/web-push/host-shares.ts'

describe('The shares of push services in the slots of Web Push', () => {
  const full = () => {
    const shares = new HostShares()
    for (let slot = 0; slot < SLOTS_PER_HOST; slot++) expect(shares.enter('hanging.example')).to.equal(undefined)
    return shares
  }

  it('turn away what exceeds a tenth of the slots, later the more there is', () => {
    const shares = full()
    const delays = Array.from({ length: 120 }, () => shares.enter('hanging.example'))
    expect(delays.slice(0, 50)).to.deep.equal(Array(50).fill(500))
    expect(delays.slice(50, 100)).to.deep.equal(Array(50).fill(1000))
    expect(delays.slice(100)).to.deep.equal(Array(20).fill(1500))
  })

  it('leave the slots of other services alone', () => {
    expect(full().enter('working.example')).to.equal(undefined)
  })

  it('give a slot again once one is left', () => {
    const shares = full()
    shares.leave('hanging.example')
    expect(shares.enter('hanging.example')).to.equal(undefined)
    expect(shares.enter('hanging.example')).to.equal(500)
  })
})
