import { expect } from 'chai'
import fc from 'fast-check'
import { createMarks } from '../../../../../sidecar/store/sqlite/messages/marks.ts'

const MOST = 12

describe('marks', () => {
  it('have of each digest the time that was set last, however much the digests are alike', () => {
    // Of few characters, so that many meet at one place, and some differ in one half alone; one is the sign of a free place.
    const digest = fc.string({ minLength: 8, maxLength: 8, unit: fc.constantFrom('\0', '\x01', '\xff') })
    const mark = fc.tuple(digest, fc.integer())
    fc.assert(
      fc.property(fc.array(mark, { maxLength: MOST }), fc.array(digest), (set, asked) => {
        const marks = createMarks(MOST)
        const times = new Map<string, number>()
        for (const [digest, time] of set) {
          // The first word of no digest is 0.
          const known = digest.startsWith('\0\0\0\0') ? `\x01${digest.slice(1)}` : digest
          marks.set(known, time)
          times.set(known, time)
        }
        expect(marks.size).to.equal(times.size)
        for (const digest of [...times.keys(), ...asked.filter((one) => !one.startsWith('\0\0\0\0'))])
          expect(marks.get(digest)).to.equal(times.get(digest))
      }),
    )
  })
})
