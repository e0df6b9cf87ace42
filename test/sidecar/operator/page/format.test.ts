import { expect } from 'chai'
import { bytes, count, counted, dateTime, duration } from '../../../../sidecar/operator/page/format.ts'

describe('The formats of numbers on the status page', () => {
  const stations = (value: number) => counted(value, 'station')
  const largeBytes = [99_949, 99_950, 999_499, 999_500, 34_273_280, 5e12, 5e16, Number.NaN]
  const spans = [-5000, 0, 59_999, 60_000, 3_599_000, 3_600_000, 90_061_000, 86_400_000 * 400]
  // Shows: sidecar O1.6.
  for (const [name, shown, values, written] of [
    ['separates thousands of a number', count, [0, 999, 1000, 1_234_567], '0 | 999 | 1,000 | 1,234,567'],
    ['writes a unit in the singular or plural', stations, [0, 1, 1000], '0 stations | 1 station | 1,000 stations'],
    ['writes up to 999 bytes as an exact number', bytes, [0, 1, 999, 1000], '0 B | 1 B | 999 B | 1.0 kB'],
    [
      'writes larger byte counts in a short unit',
      bytes,
      largeBytes,
      '99.9 kB | 100 kB | 999 kB | 1.0 MB | 34.3 MB | 5.0 TB | 50000 TB | unknown',
    ],
    [
      'writes a duration in its two largest units',
      duration,
      spans,
      '0 s | 0 s | 59 s | 1 min 0 s | 59 min 59 s | 1 h 0 min | 1 d 1 h | 400 d 0 h',
    ],
    ['writes a time in UTC', dateTime, [Date.UTC(2026, 0, 31, 23, 59, 58)], '2026-01-31 23:59:58'],
  ] as const)
    it(name, () => expect([...values].map(shown).join(' | ')).to.equal(written))
})
