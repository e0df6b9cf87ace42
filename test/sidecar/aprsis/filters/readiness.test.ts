import { expect } from 'chai'
import { isHeard, watchHeard } from '../../../../sidecar/aprsis/filters/readiness.ts'

describe('The readiness of the APRS-IS filters', () => {
  it('the filters are ready if each station is in an active filter or fits in none', () => {
    const wanted = new Set(['A', 'B', 'C'])
    expect(isHeard(wanted, [], [new Set(['A', 'B']), new Set(['C'])])).to.equal(true)
    expect(isHeard(wanted, ['C'], [new Set(['A', 'B'])])).to.equal(true)
    expect(isHeard(wanted, [], [new Set(['A', 'B'])])).to.equal(false)
    expect(isHeard(wanted, [], [new Set(['A', 'B', 'D', 'E'])])).to.equal(false)
  })

  it('the filters are not ready without a connection, even if there are no stations', () => {
    expect(isHeard(new Set(), [], [])).to.equal(false)
    expect(isHeard(new Set(), [], [new Set()])).to.equal(true)
  })

  it('the readiness of the filters is updated when stations or connections change', () => {
    const heard = watchHeard()
    const [first, both, second] = [new Set(['A']), new Set(['A', 'B']), new Set(['B'])]
    const none: readonly string[] = []
    expect(heard(both, [], [])).to.equal(false)
    expect(heard(both, [], [first])).to.equal(false)
    expect(heard(both, ['B'], [first])).to.equal(true)
    expect(heard(both, [], [first])).to.equal(false)
    expect(heard(both, [], [first, second])).to.equal(true)
    expect(heard(both, [], [second])).to.equal(false)
    expect(heard(second, none, [second])).to.equal(true)
    expect(heard(second, none, [])).to.equal(false)
  })

  it('a repeated readiness check does not read the stations if nothing has changed', () => {
    const wanted = new Set(['A', 'B'])
    let looks = 0
    wanted[Symbol.iterator] = () => {
      looks += 1
      return Set.prototype[Symbol.iterator].call(wanted)
    }
    const [up, leftOut] = [new Set(['A', 'B']), [] as const]
    const heard = watchHeard()
    for (let round = 0; round < 3; round += 1) expect(heard(wanted, leftOut, [up])).to.equal(true)
    expect(looks).to.equal(1)
  })
})
