import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { medianOf, medians, untilSteady } from './measurement.ts'
import { counted, isSteady } from './steadiness.ts'

describe('steady rate in a benchmark', () => {
  it("a benchmark's rate is steady if its last three measurements differ by up to 5 %", () => {
    strictEqual(isSteady([10, 400, 100, 105, 102]), true)
    strictEqual(isSteady([100, 105.1, 102]), false)
    strictEqual(isSteady([100, 100, 100, 90]), false)
  })

  it('a benchmark needs at least three measurements to call a rate steady', () => {
    strictEqual(isSteady([]), false)
    strictEqual(isSteady([100, 100]), false)
  })

  it('a benchmark uses only the last three measurements of a steady rate', () => {
    deepStrictEqual(counted([1, 2, 3, 4, 5], true), [3, 4, 5])
  })

  it('a benchmark uses the later half of unsteady measurements, and at least three', () => {
    deepStrictEqual(counted([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], false), [6, 7, 8, 9, 10])
    deepStrictEqual(counted([1, 2, 3, 4], false), [2, 3, 4])
  })

  it('a benchmark measures its programs in turn until the rate of each is steady', async () => {
    const order: string[] = []
    const side = (name: string, rates: number[]) => async () => {
      order.push(name)
      return { perSecond: rates.shift() ?? 0 }
    }
    const turns = await untilSteady(10, 'perSecond', {
      ours: side('a', [1, 9, 9, 9, 5]),
      peer: side('b', [7, 7, 7, 7, 7]),
    })
    strictEqual(order.join(''), 'abbaabba')
    deepStrictEqual(turns.ours, [{ perSecond: 9 }, { perSecond: 9 }, { perSecond: 9 }])
    deepStrictEqual(medians(turns, 'perSecond'), { ours: 9, peer: 7, steady: true })
  })

  it('a benchmark that reaches its limit of measurements reports an unsteady rate', async () => {
    let rate = 1
    const grows = async () => {
      rate *= 2
      return { perSecond: rate }
    }
    const { ours } = await untilSteady(8, 'perSecond', { ours: grows })
    deepStrictEqual(medianOf(ours, 'perSecond'), { value: (64 + 128) / 2, steady: false })
  })
})
