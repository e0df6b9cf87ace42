import { expect } from 'chai'
import { isHeard, watchHeard } from '../../../../sidecar/aprsis/filters/readiness.ts'

describe('The readiness of the filters', () => {
  it('is that each station is in one that is up, or known to have no room', () => {
    const wanted = new Set(['A', 'B', 'C'])
    expect(isHeard(wanted, [], [new Set(['A', 'B']), new Set(['C'])])).to.equal(true)
    expect(isHeard(wanted, ['C'], [new Set(['A', 'B'])])).to.equal(true)
    expect(isHeard(wanted, [], [new Set(['A', 'B'])])).to.equal(false)
    expect(isHeard(wanted, [], [new Set(['A', 'B', 'D', 'E'])])).to.equal(false)
  })

  it('is not ready while no connection is up, even without stations', () => {
    expect(isHeard(new Set(), [], [])).to.equal(false)
    expect(isHeard(new Set(), [], [new Set()])).to.equal(true)
  })

  it('readiness follows each change of its inputs', () => {
    const heard = watchHeard()
    const [one, both, other] = [new Set(['A']), new Set(['A', 'B']), new Set(['B'])]
    expect(heard(both, [], [])).to.equal(false)
    expect(heard(both, [], [one])).to.equal(false)
    expect(heard(both, ['B'], [one])).to.equal(true)
    expect(heard(both, [], [one])).to.equal(false)
    expect(heard(both, [], [one, other])).to.equal(true)
    expect(heard(both, [], [other])).to.equal(false)
    expect(heard(other, [], [other])).to.equal(true)
    expect(heard(other, [], [])).to.equal(false)
  })

  it('looks through the stations once while nothing changes', () => {
    const wanted = new Set(['A', 'B'])
    let looks = 0
    wanted[Symbol.iterator] = () => {
      looks += 1
      return Set.prototype[Symbol.iterator].call(wanted)
    }
    const [up, leftOut] = [new Set(['A', 'B']), [] as const]
    const heard = watchHeard()
    for (let asked = 0; asked < 3; asked += 1) expect(heard(wanted, leftOut, [up])).to.equal(true)
    expect(looks).to.equal(1)
  })
})
