import { expect } from 'chai'
import { cleanWhileSteady } from '../../../../plugin/meshcentral/sessions/cleaning.ts'
import { HALF_A_DAY_MS, type Time, timeFrom } from './time.ts'

const MONTH_MS = 30 * 24 * 60 * 60_000

describe('cleaning up after sessions', () => {
  let time: Time
  let cleaned: number
  let stop: () => void
  beforeEach(() => {
    time = timeFrom(Date.UTC(2026, 0, 1))
    cleaned = 0
    const cleanUp = () => {
      cleaned += 1
    }
    stop = cleanWhileSteady({ now: time.now, cleanUp, ...time.cleaning })
  })
  afterEach(() => stop())

  /** Whether it cleans up at the next look. */
  const cleans = async () => {
    const before = cleaned
    await time.looked()
    return cleaned > before
  }

  it('begins when the clock has gone as the time did for half a day', async () => {
    expect(await cleans()).to.equal(false)
    time.pass(HALF_A_DAY_MS - 1)
    expect(await cleans()).to.equal(false)
    time.pass(1)
    expect(await cleans()).to.equal(true)
    expect(await cleans()).to.equal(true)
  })

  for (const [where, ms] of [
    ['forward', MONTH_MS],
    ['back', -MONTH_MS],
  ] as const) {
    it(`waits for another half a day when the clock was set ${where}`, async () => {
      time.pass(HALF_A_DAY_MS)
      expect(await cleans()).to.equal(true)
      time.set(time.now() + ms)
      expect(await cleans()).to.equal(false)
      time.pass(HALF_A_DAY_MS - 1)
      expect(await cleans()).to.equal(false)
      time.pass(1)
      expect(await cleans()).to.equal(true)
    })
  }

  it('goes on while the clock is kept right a little at a time', async () => {
    time.pass(HALF_A_DAY_MS)
    for (let hours = 0; hours < 100; hours += 1) {
      time.pass(60 * 60_000)
      time.set(time.now() + 2_000)
      expect(await cleans()).to.equal(true)
    }
  })

  it('has ended once it is stopped', async () => {
    time.pass(HALF_A_DAY_MS)
    stop()
    const stopAnother = cleanWhileSteady({ now: time.now, cleanUp: () => undefined, ...time.cleaning })
    await time.looked()
    await time.looked()
    stopAnother()
    expect(cleaned).to.equal(0)
  })
})
