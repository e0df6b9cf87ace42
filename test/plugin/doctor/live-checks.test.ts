import { expect } from 'chai'
import type { Verdict } from '../../../plugin/doctor/live/verdict.ts'
import { createLiveChecks, PAUSE_MS } from '../../../plugin/doctor/live-checks.ts'

const VERDICTS: readonly Verdict[] = [{ question: 'discovery', verdict: 'ok', text: 'fine' }]

describe('live checks started from the status page', () => {
  const setUp = (outcome: () => Promise<readonly Verdict[]> = async () => VERDICTS) => {
    const clock = { now: 1_000 }
    const requests: string[] = []
    const failures: unknown[] = []
    const askers = new Map(
      ['', 'sub'].map((key) => [
        key,
        () => {
          requests.push(key)
          return outcome()
        },
      ]),
    )
    const checks = createLiveChecks(
      askers,
      () => clock.now,
      (error) => void failures.push(error),
    )
    const settled = () => new Promise((resolve) => setImmediate(resolve))
    return { clock, requests, failures, checks, settled }
  }

  it('each domain runs one live check at a time, and keeps the result', async () => {
    const { clock, requests, checks, settled } = setUp()
    expect(checks.of('')).to.deep.equal({ kind: 'never' })
    for (const key of ['', '', 'sub', '']) checks.start(key)
    expect(requests).to.deep.equal(['', 'sub'])
    expect(checks.of('')).to.deep.equal({ kind: 'running', since: 1_000 })
    clock.now = 3_000
    await settled()
    expect(checks.of('')).to.deep.equal({ kind: 'done', endedAt: 3_000, verdicts: VERDICTS })
  })

  it('a new live check starts only after a pause, or if the clock was set back', async () => {
    const { clock, requests, checks, settled } = setUp()
    checks.start('')
    await settled()
    for (const [now, questions] of [
      [PAUSE_MS - 1, 1],
      [PAUSE_MS, 2],
      [5, 3],
    ] as const) {
      clock.now = now === 5 ? 5 : 1_000 + now
      checks.start('')
      expect(requests).to.have.length(questions)
      await settled()
    }
  })

  it('no live check starts for an unknown domain', () => {
    const { requests, checks } = setUp()
    checks.start('other')
    expect(requests).to.deep.equal([])
    expect(checks.of('other')).to.deep.equal({ kind: 'never' })
  })

  it('a live check that throws ends without verdicts and can be started again', async () => {
    const { clock, requests, failures, checks, settled } = setUp(async () => {
      throw new Error('unforeseen')
    })
    checks.start('')
    await settled()
    expect(checks.of('')).to.deep.equal({ kind: 'done', endedAt: 1_000, verdicts: [] })
    expect(failures).to.have.length(1)
    clock.now += PAUSE_MS
    checks.start('')
    expect(requests).to.have.length(2)
  })
})
