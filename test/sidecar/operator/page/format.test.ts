import { expect } from 'chai'
import { bytes, count, counted, dateTime, duration } from '../../../../sidecar/operator/page/format.ts'

describe('figures for a person', () => {
  it('have their thousands apart', () => {
    expect([0, 999, 1000, 1_234_567].map(count)).to.deep.equal(['0', '999', '1,000', '1,234,567'])
  })

  it('are followed by one thing or several', () => {
    expect([0, 1, 2, 1000].map((value) => counted(value, 'station'))).to.deep.equal([
      '0 stations',
      '1 station',
      '2 stations',
      '1,000 stations',
    ])
  })

  it('give bytes in the unit that keeps them short', () => {
    const written = [0, 1, 999, 1000, 99_949, 99_950, 999_499, 999_500, 34_273_280, 5e12, 5e16, Number.NaN].map(bytes)
    expect(written).to.deep.equal([
      '0 B',
      '1 B',
      '999 B',
      '1.0 kB',
      '99.9 kB',
      '100 kB',
      '999 kB',
      '1.0 MB',
      '34.3 MB',
      '5.0 TB',
      '50000 TB',
      'unknown',
    ])
  })

  it('give spans in their two largest units', () => {
    const written = [-5000, 0, 59_999, 60_000, 3_599_000, 3_600_000, 90_061_000, 86_400_000 * 400].map(duration)
    expect(written).to.deep.equal([
      '0 s',
      '0 s',
      '59 s',
      '1 min 0 s',
      '59 min 59 s',
      '1 h 0 min',
      '1 d 1 h',
      '400 d 0 h',
    ])
  })

  it('give times in UTC', () => {
    const at = Date.UTC(2026, 0, 31, 23, 59, 58)
    expect(dateTime(at)).to.equal('2026-01-31 23:59:58')
  })
})
