import { expect } from 'chai'
import { retryAfterMs } from '../../../plugin/presets/vendor-api.ts'

const NOW = Date.parse('Wed, 21 Oct 2015 07:28:00 GMT')

describe('Retry-After', () => {
  it('is seconds or a date, never a time that is over', () => {
    expect(retryAfterMs('0', NOW)).to.equal(0)
    expect(retryAfterMs(' 120 ', NOW)).to.equal(120_000)
    expect(retryAfterMs('Wed, 21 Oct 2015 07:28:05 GMT', NOW)).to.equal(5_000)
    expect(retryAfterMs('Wednesday, 21-Oct-15 07:28:05 GMT', NOW)).to.equal(5_000)
    expect(retryAfterMs('Tue, 20 Oct 2015 07:28:05 GMT', NOW)).to.equal(0)
  })

  it('says nothing in any other form', () => {
    for (const header of [null, '', '-1', '1.5', '1e3', 'soon', '2015-10-21', '99999999999', 'Wed, GMT', 'Infinity']) {
      expect(retryAfterMs(header, NOW), String(header)).to.equal(undefined)
    }
  })
})
