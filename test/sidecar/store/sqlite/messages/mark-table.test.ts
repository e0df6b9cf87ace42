import { expect } from 'chai'
import fc from 'fast-check'
import { createMarkTable } from '../../../../../sidecar/store/sqlite/messages/mark-table.ts'

describe('The table of marks', () => {
  const digests = fc.oneof(
    fc.integer({ min: 1, max: 40 }),
    // Of one place, as far as the smallest table goes.
    fc.integer({ min: 1, max: 20 }).map((number) => number * 1024 + 5),
    fc.maxSafeInteger().map((number) => Math.abs(number) + 1),
  )

  it('gives back the last time of each digest while it has room, as it grows too', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(digests, fc.double({ noNaN: true })), { maxLength: 200 }), (steps) => {
        const table = createMarkTable()
        const model = new Map<number, number>()
        for (const [digest, time] of steps) {
          expect(table.get(digest)).to.equal(model.get(digest))
          table.set(digest, time)
          model.set(digest, time)
        }
        for (const [digest, time] of model) expect(table.get(digest)).to.equal(time)
      }),
    )
    const table = createMarkTable()
    for (let digest = 1; digest <= 5000; digest += 1) table.set(digest * 7919, digest)
    for (let digest = 1; digest <= 5000; digest += 1) expect(table.get(digest * 7919)).to.equal(digest)
  })

  it('keeps the newest of as many as three quarters of its places, and forgets what is older than two times that', () => {
    const table = createMarkTable(64)
    for (let digest = 1; digest <= 300; digest += 1) {
      table.set(digest, digest)
      for (let newer = Math.max(1, digest - 47); newer <= digest; newer += 1) expect(table.get(newer)).to.equal(newer)
      for (let older = 1; older <= digest - 96; older += 1) expect(table.get(older)).to.equal(undefined)
    }
  })
})
