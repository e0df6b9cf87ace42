import { expect } from 'chai'
import { createExpiry } from '../../../../sidecar/operator/housekeeping/expiry.ts'

const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1)

/** Cut-offs of hourly runs, in hours after the start. */
function hourly(expireAfterHours: number, runs: number): (number | undefined)[] {
  const expiry = createExpiry(expireAfterHours * HOUR, START)
  return Array.from({ length: runs }, (_, index) => {
    const cutoff = expiry.cutoff(START + (index + 1) * HOUR)
    return cutoff === undefined ? undefined : (cutoff - START) / HOUR
  })
}

describe('The expiry of stations', () => {
  // Shows: sidecar C11.3.
  it('expires no station in the first 6 hours, so that phones can register again', () => {
    expect(hourly(720, 9)).to.deep.equal([...Array(6).fill(undefined), 7 - 720, 8 - 720, 9 - 720])
  })

  it('a start delays the expiry of stations by at most expireAfterHours', () => {
    expect(hourly(2, 4)).to.deep.equal([undefined, 0, 1, 2])
  })

  it('the delay before stations expire begins when the earliest instance starts', () => {
    const expiry = createExpiry(720 * HOUR, START)
    expect(expiry.cutoff(START + HOUR, START - 6 * HOUR)).to.equal(START - 719 * HOUR)
    expect(expiry.cutoff(START + 9 * HOUR, START + 3 * HOUR)).to.equal(undefined)
  })

  // Shows: sidecar C11.3.
  it('delays the expiry of stations again after the machine slept or the clock jumped', () => {
    for (const leap of [30 * 24 * HOUR, -30 * 24 * HOUR]) {
      const expiry = createExpiry(720 * HOUR, START)
      for (let hour = 1; hour <= 10; hour++) expiry.cutoff(START + hour * HOUR)
      const later = START + 10 * HOUR + leap
      const cutoffs = Array.from({ length: 8 }, (_, hour) => expiry.cutoff(later + hour * HOUR))
      expect(cutoffs).to.deep.equal([...Array(7).fill(undefined), later + 7 * HOUR - 720 * HOUR])
    }
  })
})
