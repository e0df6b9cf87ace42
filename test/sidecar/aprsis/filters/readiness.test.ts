import { expect } from 'chai'
import { isHeard } from '../../../../sidecar/aprsis/filters/readiness.ts'

describe('The readiness of the filters', () => {
  it('is that each station is in one that is up, or known to have no room', () => {
    const wanted = new Set(['A', 'B', 'C'])
    expect(isHeard(wanted, [], [new Set(['A', 'B']), new Set(['C'])])).to.equal(true)
    expect(isHeard(wanted, ['C'], [new Set(['A', 'B'])])).to.equal(true)
    expect(isHeard(wanted, [], [new Set(['A', 'B'])])).to.equal(false)
    expect(isHeard(wanted, [], [new Set(['A', 'B', 'D', 'E'])])).to.equal(false)
  })

  it('is false while none is up, even if nobody is registered', () => {
    expect(isHeard(new Set(), [], [])).to.equal(false)
    expect(isHeard(new Set(), [], [new Set()])).to.equal(true)
  })
})
