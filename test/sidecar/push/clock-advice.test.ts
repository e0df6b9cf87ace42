import { expect } from 'chai'
import { clockAdvice, withClockAdvice } from '../../../sidecar/push/gateway/clock-advice.ts'

const NOW = Date.UTC(2026, 10, 27, 12, 30)
const dateOf = (ms: number) => new Date(ms).toUTCString()

describe('The advice about a clock that may be wrong', () => {
  for (const [offsetMs, says] of [
    [59_000, "this machine's clock is right"],
    [-59_000, "this machine's clock is right"],
    [90 * 60_000, "set this machine's clock right first: it says 2026-11-27 12:30 UTC, 2 hours behind the gateway's"],
    [-60_000, "set this machine's clock right first: it says 2026-11-27 12:30 UTC, 1 minute ahead of the gateway's"],
    [
      -3 * 86_400_000,
      "set this machine's clock right first: it says 2026-11-27 12:30 UTC, 3 days ahead of the gateway's",
    ],
  ] as const) {
    it(`reports that this clock is wrong if a gateway's is ${offsetMs / 1000} s ahead`, () => {
      expect(clockAdvice(dateOf(NOW + offsetMs), NOW)).to.equal(says)
    })
  }

  for (const date of [undefined, '', 'tomorrow']) {
    it(`asks to check the clock if the gateway sends the date ${JSON.stringify(date)}`, () => {
      expect(clockAdvice(date, NOW)).to.equal("check this machine's clock first (it says 2026-11-27 12:30 UTC)")
    })
  }

  it('adds clock advice only to TLS errors that a wrong clock can cause', () => {
    expect(withClockAdvice('CERT_NOT_YET_VALID', NOW)).to.match(/^CERT_NOT_YET_VALID: check this machine's clock/)
    expect(withClockAdvice('CERT_HAS_EXPIRED', NOW)).to.match(/^CERT_HAS_EXPIRED: check this machine's clock/)
    expect(withClockAdvice('ECONNREFUSED', NOW)).to.equal('ECONNREFUSED')
  })
})
