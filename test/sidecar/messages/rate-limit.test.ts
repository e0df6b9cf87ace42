import { expect } from 'chai'
import fc from 'fast-check'
import { createRateLimit } from '../../../sidecar/messages/rate-limit.ts'

describe('The rate limit', () => {
  // Shows: sidecar C1.18.
  it('the rate limit admits a fixed number of requests per client and window', () => {
    const limit = createRateLimit({ windowMs: 1000, max: 2 })
    expect([0, 1, 2, 999].map((index) => limit.take('a', index))).to.deep.equal([true, true, false, false])
    expect([1000, 1001, 1002].map((index) => limit.take('a', index))).to.deep.equal([true, true, false])
  })

  // Shows: sidecar C3.12.
  it('the rate limit counts the requests of each client separately', () => {
    const limit = createRateLimit({ windowMs: 1000, max: 1 })
    expect(limit.take('a', 0)).to.equal(true)
    expect(limit.take('b', 0)).to.equal(true)
    expect(limit.take('a', 1)).to.equal(false)
  })

  it('the rate limit counts a request of weight n as n requests', () => {
    const limit = createRateLimit({ windowMs: 1000, max: 5 })
    expect(limit.take('a', 0, 3)).to.equal(true)
    expect(limit.take('a', 1, 2)).to.equal(true)
    expect(limit.take('a', 2)).to.equal(false)
    expect(limit.take('b', 0, 6)).to.equal(false)
  })

  it('a rate limit of 0 admits no request', () => {
    const limit = createRateLimit({ windowMs: 1000, max: 0 })
    expect(limit.take('a', 0)).to.equal(false)
    expect(limit.take('a', 5000)).to.equal(false)
  })

  it('in any period of windowMs, the rate limit admits at most twice the maximum', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(300), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (steps, max) => {
          const limit = createRateLimit({ windowMs: 1000, max })
          let now = 0
          const passed = steps.flatMap((step) => {
            now += step
            return limit.take('a', now) ? [now] : []
          })
          for (const start of passed)
            expect(passed.filter((index) => index >= start && index < start + 1000).length).to.be.at.most(2 * max)
        },
      ),
    )
  })

  it('the rate limit forgets the oldest clients, so that a flood does not fill memory', () => {
    const limit = createRateLimit({ windowMs: 1000, max: 1 })
    for (let client = 0; client < 500_000; client++) limit.take(`client ${client}`, 0)
    // Clients before the newest 100,000 were forgotten.
    expect(limit.take('client 499999', 1)).to.equal(false)
    expect(limit.take('client 399999', 1)).to.equal(true)
  })

  it('a full rate limit forgets clients with expired windows before other clients', () => {
    const limit = createRateLimit({ windowMs: 1000, max: 1 })
    for (let client = 0; client < 49_999; client++) limit.take(`old ${client}`, 0)
    limit.take('young', 900)
    for (let client = 0; client < 49_999; client++) limit.take(`new ${client}`, 1000)
    expect(limit.take('young', 1001)).to.equal(false)
  })
})
