import { expect } from 'chai'
import fc from 'fast-check'
import { KeyIndex } from '../../../../plugin/meshcentral/sessions/key-index.ts'
import { propertyRuns } from '../../../support/property-runs.ts'

describe('index of sessions by revocation key', () => {
  // Shows: plugin 9.10.
  it('after random changes, an index by revocation key finds the same as a full search', () => {
    const keys = fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd', '__proto__'), { maxLength: 4 })
    const steps = fc.array(fc.record({ add: fc.boolean(), position: fc.nat(9) }), { maxLength: 40 })
    fc.assert(
      fc.property(fc.array(keys, { minLength: 10, maxLength: 10 }), steps, (all, order) => {
        const entries = all.map((entryKeys) => ({ keys: entryKeys }))
        const index = new KeyIndex<(typeof entries)[number]>()
        const present = new Set<(typeof entries)[number]>()
        for (const { add, position } of order) {
          const entry = entries[position]!
          if (add) index.add(entry)
          else index.remove(entry)
          if (add) present.add(entry)
          else present.delete(entry)
        }
        for (const key of ['a', 'b', 'c', 'd', '__proto__', 'e']) {
          const expected = [...present].filter((entry) => entry.keys.includes(key))
          expect(index.withKey(key)).to.have.members(expected)
          expect(index.has(key)).to.equal(expected.length > 0)
        }
      }),
      { numRuns: propertyRuns(200) },
    )
  })
})
