import { expect } from 'chai'
import fc from 'fast-check'
import { KeyIndex } from '../../../../plugin/meshcentral/sessions/key-index.ts'
import { propertyRuns } from '../../../support/property-runs.ts'

describe('an index by keys', () => {
  // Shows: plugin 9.10.
  it('finds what a look through all entries finds, whatever was added and removed', () => {
    const keys = fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd', '__proto__'), { maxLength: 4 })
    const steps = fc.array(fc.record({ add: fc.boolean(), at: fc.nat(9) }), { maxLength: 40 })
    fc.assert(
      fc.property(fc.array(keys, { minLength: 10, maxLength: 10 }), steps, (all, order) => {
        const entries = all.map((own) => ({ keys: own }))
        const index = new KeyIndex<(typeof entries)[number]>()
        const there = new Set<(typeof entries)[number]>()
        for (const { add, at } of order) {
          const entry = entries[at]!
          if (add) index.add(entry)
          else index.remove(entry)
          if (add) there.add(entry)
          else there.delete(entry)
        }
        for (const key of ['a', 'b', 'c', 'd', '__proto__', 'e']) {
          const expected = [...there].filter((one) => one.keys.includes(key))
          expect(index.withKey(key)).to.have.members(expected)
          expect(index.has(key)).to.equal(expected.length > 0)
        }
      }),
      { numRuns: propertyRuns(200) },
    )
  })
})
