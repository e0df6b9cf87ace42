import { expect } from 'chai'
import {
  GIVE_UP_AFTER_MS,
  MAX_TRIES,
  planAfterFailure,
  planAfterRefusal,
} from '../../../../sidecar/push/delivery/retry-plan.ts'

const SLOWEST = 1 - Number.EPSILON
const MINUTE = 60_000

describe('The timing of push retries', () => {
  const planned = (
    tries: number,
    { elapsedMs = 0, afterMs = undefined as number | undefined, random = SLOWEST } = {},
  ) => planAfterFailure({ claim: { tries }, elapsedMs, afterMs }, random)
  const delayMs = (...of: Parameters<typeof planned>) => planned(...of)?.delayMs

  it('each push retry waits three times as long as the last, up to 5 minutes', () => {
    const delays = Array.from({ length: 8 }, (_, tries) => delayMs(tries))
    expect(delays).to.deep.equal([1000, 3000, 9000, 27_000, 81_000, 243_000, 300_000, 300_000])
    expect(planned(3)).to.deep.include({ tries: 4, refusals: 0 })
  })

  it('retries of pushes that failed together are spread over half of their delay', () => {
    expect([0, 0.5].map((random) => delayMs(0, { random }))).to.deep.equal([500, 750])
  })

  // Shows: sidecar C9.8.
  it('a push retry waits at most 15 minutes, even if the gateway asks for longer', () => {
    for (const [afterMs, expected] of [
      [MINUTE, MINUTE + 1000],
      [1440 * MINUTE, 15 * MINUTE + 1000],
      [Number.POSITIVE_INFINITY, 15 * MINUTE + 1000],
    ] as const)
      expect(delayMs(0, { afterMs })).to.equal(expected)
  })

  // Shows: sidecar C9.13.
  it('gives up a push after 20 tries, or if the next retry would exceed one hour', () => {
    expect(planned(MAX_TRIES - 2, { random: 0 })).to.include({ tries: MAX_TRIES - 1 })
    expect(MAX_TRIES).to.equal(20)
    expect(planned(MAX_TRIES - 1, { random: 0 })).to.equal(undefined)
    expect(planned(0, { elapsedMs: GIVE_UP_AFTER_MS - 1000 })).to.include({ delayMs: 1000 })
    expect(planned(0, { elapsedMs: GIVE_UP_AFTER_MS - 999 })).to.equal(undefined)
  })

  it('plans endless push retries after refused credentials, and counts no tries', () => {
    const delays = [0, 1, 2, 1000].map((refusals) => planAfterRefusal({ refusals }, SLOWEST))
    expect(delays.map((next) => next.delayMs)).to.deep.equal([1000, 3000, 9000, 300_000])
    expect(delays.at(-1)).to.include({ tries: 0, refusals: 1001 })
  })
})
