import { expect } from 'chai'
import { cleanUpWhileSteady } from '../../../../plugin/meshcentral/sessions/steady-cleanup.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const HOUR_MS = 60 * 60_000
const MONTH_MS = 30 * 24 * HOUR_MS

describe('cleanup of expired records', () => {
  let clock: FakeClock
  let cleaned: number
  let stop: () => void
  beforeEach(() => {
    clock = new FakeClock()
    cleaned = 0
    stop = cleanUpWhileSteady(clock, () => {
      cleaned += 1
    })
  })
  afterEach(() => stop())

  it('cleanup of expired records starts after half a day of steady clock, then hourly', async () => {
    await clock.advance(12 * HOUR_MS - 1)
    expect(cleaned).to.equal(0)
    await clock.advance(1)
    expect(cleaned).to.equal(1)
    await clock.advance(3 * HOUR_MS)
    expect(cleaned).to.equal(4)
  })

  for (const [direction, ms] of [
    ['forward', MONTH_MS],
    ['back', -MONTH_MS],
  ] as const) {
    it(`cleanup of records waits another half day after the clock was set ${direction}`, async () => {
      await clock.advance(12 * HOUR_MS)
      clock.set(clock.now() + ms)
      // The next check notices it.
      await clock.advance(12 * HOUR_MS)
      expect(cleaned).to.equal(1)
      await clock.advance(HOUR_MS)
      expect(cleaned).to.equal(2)
    })
  }

  it('cleanup of expired records continues while the clock is adjusted in small steps', async () => {
    for (let hours = 0; hours < 100; hours += 1) {
      await clock.advance(HOUR_MS)
      clock.set(clock.now() + 2_000)
    }
    expect(cleaned).to.equal(89)
  })

  it('a stopped cleanup of expired records never runs and leaves no timer', async () => {
    await clock.advance(11 * HOUR_MS)
    stop()
    await clock.advance(24 * HOUR_MS)
    expect(cleaned).to.equal(0)
    expect(clock.pending).to.equal(0)
  })
})
