import { expect } from 'chai'
import { afterDropMs, backoffMs } from '../../../../sidecar/aprsis/connection/backoff.ts'

describe('The reconnect delay', () => {
  it('reconnects after 1 to 2 s; each failure doubles the maximum, up to 60 s', () => {
    const limits = [1, 2, 3, 4, 5, 6, 7, 100, 5000].map((failures) => backoffMs(failures, 1))
    expect(limits).to.deep.equal([2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000])
    expect(backoffMs(1, 0)).to.equal(1000)
    expect(backoffMs(100, 0)).to.equal(1000)
  })

  it('spreads reconnect delays evenly between 1 s and the maximum', () => {
    expect(backoffMs(3, 0.5)).to.equal(4500)
  })

  it('waits 2 to 4 s to reconnect after the server dropped a login', () => {
    expect([0, 0.5, 1].map(afterDropMs)).to.deep.equal([2000, 3000, 4000])
  })
})
