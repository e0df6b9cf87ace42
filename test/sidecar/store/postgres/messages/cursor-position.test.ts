import { expect } from 'chai'
import {
  beginWrite,
  endWrite,
  failWrite,
  mustBeTakenBack,
  newPosition,
  noteReading,
  type Position,
  seenOf,
  withdraw,
} from '../../../../../sidecar/store/postgres/messages/cursor-position.ts'

const NEVER = -1
const READ = { number: 1, registeredAt: 10, asked: 0, seen: 50, newest: 100, messages: [] }
const FRESH = { asked: 0, seen: 10, written: 50, mayBeWritten: NEVER, withdrawn: NEVER, takingBack: NEVER, newest: 100 }
const NEW: Position = { key: 'N0CALL', registeredAt: 10, ...FRESH, asOf: 1 }
const of = (changes: Partial<Position>): Position => ({ ...NEW, ...changes })

describe("where a station's phone is, as one of several instances knows it,", () => {
  it('is at first what is written', () => {
    expect(newPosition('N0CALL', READ)).to.deep.equal(NEW)
  })

  for (const [what, known, read, expected] of [
    [
      'a newer reading',
      {},
      { number: 2, asked: 20, seen: 70, newest: 120 },
      { asOf: 2, asked: 20, written: 70, newest: 120 },
    ],
    ['an older reading, but for what only grows', {}, { asked: 20, seen: 70, newest: 120 }, { asked: 20, newest: 120 }],
    [
      'nothing that a reading has less of',
      { asked: 30, newest: 140 },
      { number: 2, asked: 20, newest: 120 },
      { asOf: 2 },
    ],
    ['no less by a reading of what is written', { seen: 90 }, { number: 2 }, { asOf: 2 }],
    [
      'that another one took back what was written',
      { seen: 90 },
      { number: 2, seen: 49 },
      { asOf: 2, seen: 10, written: 49 },
    ],
  ] as const) {
    it(`learns ${what}`, () => {
      const position = of(known)
      noteReading(position, { ...READ, ...read })
      expect(position).to.deep.equal(of({ ...known, ...expected }))
    })
  }

  for (const [written, seen, withdrawn, takingBack, expected] of [
    [50, 40, NEVER, NEVER, 50],
    [50, 60, NEVER, NEVER, 60],
    [50, 40, 49, 49, 50],
    [50, 40, 50, NEVER, 40],
    [50, 40, NEVER, 50, 40],
  ] as const) {
    it(`is ${expected} of ${written} written and ${seen} known, ${withdrawn} withdrawn, ${takingBack} being taken back`, () => {
      expect(seenOf(of({ written, seen, withdrawn, takingBack }))).to.equal(expected)
    })
  }

  for (const [mayBeWritten, before, told, expected] of [
    [NEVER, 30, false, { seen: 30 }],
    [80, 80, false, { seen: 60 }],
    [80, 79, true, { seen: 60, withdrawn: 80 }],
  ] as const) {
    it(`goes back to ${before}, and ${told ? 'has' : 'need not have'} ${mayBeWritten} taken back`, () => {
      const position = of({ seen: 60, mayBeWritten })
      expect(withdraw(position, before)).to.equal(told)
      expect(position).to.deep.equal(of({ mayBeWritten, ...expected }))
      expect(mustBeTakenBack(position)).to.equal(told)
    })
  }

  it('may have been written from when a write begins, and is known again from when it ended or failed', () => {
    const before = { asked: 5, seen: 60, withdrawn: 80, mayBeWritten: 80 }
    const during = { ...before, withdrawn: NEVER, takingBack: 80, asOf: Number.POSITIVE_INFINITY }
    for (const [act, expected] of [
      [() => undefined, during],
      [endWrite, { ...before, withdrawn: NEVER, mayBeWritten: 60, asOf: 9, written: 65 }],
      [
        (...[row, , begun]: Parameters<typeof endWrite>) => endWrite(row, undefined, begun),
        { ...before, withdrawn: NEVER, mayBeWritten: 60, asOf: 9 },
      ],
      [(...[row, , begun]: Parameters<typeof endWrite>) => failWrite(row, begun), { ...before, asOf: 9 }],
    ] as const) {
      const position = of(before)
      const row = beginWrite(position)
      expect(row).to.deep.equal({ position, asked: 5, seen: 60, withdrawn: 80 })
      act(row, 65, 9)
      expect(position).to.deep.equal(of(expected))
    }
    const higher = of({ seen: 90, mayBeWritten: 80 })
    beginWrite(higher)
    expect(higher.mayBeWritten).to.equal(90)
  })
})
