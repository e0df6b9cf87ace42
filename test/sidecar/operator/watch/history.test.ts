import { expect } from 'chai'
import fc from 'fast-check'
import { createMetrics } from '../../../../sidecar/metrics.ts'
import { type History, MINUTES, recordHistory } from '../../../../sidecar/operator/watch/history.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const MINUTE_MS = 60_000

const shown = (history: History) =>
  history
    .minutes()
    .map(({ startedAt, counts }) => [new Date(startedAt).toISOString().slice(11, 19), counts.messages_stored])

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
    metrics.countCase('pushes_accepted', { platform: 'ios' }, 2)
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

  it('counts by the minutes of the clock, whatever second it began in', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1, 12, 0, 37, 250))
    const metrics = createMetrics()
    const history = recordHistory(metrics, clock)
    metrics.count('messages_stored', 1)
    await clock.advance(22_749)
    metrics.count('messages_stored', 2)
    expect(shown(history)).to.deep.equal([['12:00:00', 3]])
    await clock.advance(1)
    metrics.count('messages_stored', 4)
    await clock.advance(59_999)
    expect(shown(history)).to.deep.equal([
      ['12:00:00', 3],
      ['12:01:00', 4],
    ])
    await clock.advance(1)
    expect(shown(history).at(-1)).to.deep.equal(['12:02:00', 0])
    history.close()
  })

  it('gives every minute the time that it has by the clock of now, after a step of it', async () => {
    const clock = new FakeClock(Date.UTC(1970, 0, 1, 0, 3))
    const metrics = createMetrics()
    const history = recordHistory(metrics, clock)
    metrics.count('messages_stored', 5)
    await clock.advance(2 * MINUTE_MS)
    clock.set(Date.UTC(2026, 0, 1, 12, 30, 20))
    expect(shown(history).map(([time]) => time)).to.deep.equal(['12:28:00', '12:29:00', '12:30:00'])
    await clock.advance(MINUTE_MS)
    await clock.advance(MINUTE_MS)
    expect(shown(history)).to.deep.equal([
      ['12:28:00', 5],
      ['12:29:00', 0],
      ['12:30:00', 0],
      ['12:31:00', 0],
      ['12:32:00', 0],
    ])
    history.close()
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
