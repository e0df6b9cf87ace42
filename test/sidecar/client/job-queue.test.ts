import { expect } from 'chai'
import { retryDelayMs } from '../../../sidecar/client/job-queue.ts'

describe('The retry delay of the client', () => {
  // Shows: sidecar C15.4.
  it("the client's retry delay doubles with each failure, from 4 s to 15 minutes", () => {
    const longest = (failures: number) => retryDelayMs(failures, 1 - Number.EPSILON)
    expect([1, 2, 3, 8, 9, 1000].map(longest)).to.deep.equal([4000, 8000, 16_000, 512_000, 900_000, 900_000])
  })

  // Shows: sidecar C15.4.
  it('the client spreads each retry randomly over the second half of its delay', () => {
    expect([0, 0.5].map((random) => retryDelayMs(3, random))).to.deep.equal([8000, 12_000])
  })
})
