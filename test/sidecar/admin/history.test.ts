import { expect } from 'chai'
import fc from 'fast-check'
import { MINUTES, recordHistory } from '../../../sidecar/admin/history.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const MINUTE_MS = 60_000

describe('the history of the counters', () => {
  it('tells minute by minute what was counted, the running minute last', async () => {
    const metrics = createMetrics()
    const clock = new FakeClock()
    metrics.count('messages_stored', 100)
    const start = clock.now()
    const history = recordHistory(metrics, clock)
    metrics.count('messages_stored', 3)
    await clock.advance(MINUTE_MS)
    metrics.count('messages_stored', 1)
    metrics.count('pushes_accepted', 2)
    const minutes = history.minutes()
    expect(minutes.map(({ startedAt }) => startedAt - start)).to.deep.equal([0, MINUTE_MS])
    expect(minutes.map(({ counts }) => counts.messages_stored)).to.deep.equal([3, 1])
    expect(minutes.map(({ counts }) => counts.pushes_accepted)).to.deep.equal([0, 2])
    history.close()
  })

  it('keeps an hour and no more, in which nothing is lost or counted twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(1000), { minLength: 1, maxLength: 150, size: 'max' }), async (amounts) => {
        const metrics = createMetrics()
        const clock = new FakeClock()
        const history = recordHistory(metrics, clock)
        for (const [at, amount] of amounts.entries()) {
          if (at > 0) await clock.advance(MINUTE_MS)
          metrics.count('lines_received', amount)
        }
        expect(history.minutes().map(({ counts }) => counts.lines_received)).to.deep.equal(amounts.slice(-MINUTES))
        history.close()
      }),
      { numRuns: 20 },
    )
  })

  it('is moved by no step of the wall clock', async () => {
    const metrics = createMetrics()
    const clock = new FakeClock()
    const history = recordHistory(metrics, clock)
    clock.set(0)
    metrics.count('api_requests')
    await clock.advance(MINUTE_MS)
    expect(history.minutes().map(({ counts }) => counts.api_requests)).to.deep.equal([1, 0])
    history.close()
  })

  it('plans nothing more once it is closed', async () => {
    const clock = new FakeClock()
    const history = recordHistory(createMetrics(), clock)
    await clock.advance(MINUTE_MS)
    history.close()
    history.close()
    expect(clock.pending).to.equal(0)
  })
})
