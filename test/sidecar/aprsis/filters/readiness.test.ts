import { expect } from 'chai'
import fc from 'fast-check'
import { createReadiness } from '../../../../sidecar/aprsis/filters/readiness.ts'

describe('The readiness of the filters', () => {
  it('is that each station is in one that is up, or known to have no room', () => {
    const isHeard = createReadiness()
    const wanted = new Set(['A', 'B', 'C'])
    expect(isHeard(wanted, [], [new Set(['A', 'B']), new Set(['C'])])).to.equal(true)
    expect(isHeard(wanted, ['C'], [new Set(['A', 'B'])])).to.equal(true)
    expect(isHeard(wanted, [], [new Set(['A', 'B'])])).to.equal(false)
    expect(isHeard(wanted, [], [new Set(['A', 'B', 'D', 'E'])])).to.equal(false)
  })

  it('is false while none is up, even if nobody is registered', () => {
    const isHeard = createReadiness()
    expect(isHeard(new Set(), [], [])).to.equal(false)
    expect(isHeard(new Set(), [], [new Set()])).to.equal(true)
  })

  it('is the same whether it was asked for before or not', () => {
    const keys = fc.uniqueArray(fc.constantFrom('A', 'B', 'C', 'D'))
    const sets = keys.map((found) => new Set(found))
    const pool = fc.tuple(
      fc.array(sets, { minLength: 1, maxLength: 4 }),
      fc.array(keys, { minLength: 1, maxLength: 2 }),
    )
    const picks = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.array(fc.nat(), { maxLength: 3 })), { maxLength: 12 })
    fc.assert(
      fc.property(pool, picks, ([filters, lists], questions) => {
        const isHeard = createReadiness()
        const of = <T>(choice: readonly T[], at: number) => choice[at % choice.length] as T
        for (const [wanted, leftOut, up] of questions) {
          const parts = [of(filters, wanted), of(lists, leftOut), up.map((at) => of(filters, at))] as const
          expect(isHeard(...parts)).to.equal(createReadiness()(...parts))
        }
      }),
    )
  })
})
