import { expect } from 'chai'
import type { Verdict } from '../../../plugin/doctor/live/verdict.ts'
import { createLiveChecks, PAUSE_MS } from '../../../plugin/doctor/live-checks.ts'

const VERDICTS: readonly Verdict[] = [{ question: 'discovery', verdict: 'ok', text: 'fine' }]

describe('live checks on demand', () => {
  const setUp = (outcome: () => Promise<readonly Verdict[]> = async () => VERDICTS) => {
    const clock = { now: 1_000 }
    const asked: string[] = []
    const failures: unknown[] = []
    const askers = new Map(
      ['', 'sub'].map((key) => [
        key,
        () => {
          asked.push(key)
          return outcome()
        },
      ]),
    )
    const checks = createLiveChecks(
      askers,
      () => clock.now,
      (error) => void failures.push(error),
    )
    const ended = () => new Promise((resolve) => setImmediate(resolve))
    return { clock, asked, failures, checks, ended }
  }

  it('are one at a time for each domain, and keep the last outcome', async () => {
    const { clock, asked, checks, ended } = setUp()
    expect(checks.of('')).to.deep.equal({ kind: 'never' })
    for (const key of ['', '', 'sub', '']) checks.start(key)
    expect(asked).to.deep.equal(['', 'sub'])
    expect(checks.of('')).to.deep.equal({ kind: 'running', since: 1_000 })
    clock.now = 3_000
    await ended()
    expect(checks.of('')).to.deep.equal({ kind: 'done', endedAt: 3_000, verdicts: VERDICTS })
  })

  it('leave the IdP in peace for a while after each, whatever became of the clock', async () => {
    const { clock, asked, checks, ended } = setUp()
    checks.start('')
    await ended()
    for (const [now, questions] of [
      [PAUSE_MS - 1, 1],
      [PAUSE_MS, 2],
      [5, 3],
    ] as const) {
      clock.now = now === 5 ? 5 : 1_000 + now
      checks.start('')
      expect(asked).to.have.length(questions)
      await ended()
    }
  })

  it('ask nobody about a domain that is not theirs', () => {
    const { asked, checks } = setUp()
    checks.start('other')
    expect(asked).to.deep.equal([])
    expect(checks.of('other')).to.deep.equal({ kind: 'never' })
  })

  it('end also where asking failed, and can be begun again', async () => {
    const { clock, asked, failures, checks, ended } = setUp(async () => {
      throw new Error('unforeseen')
    })
    checks.start('')
    await ended()
    expect(checks.of('')).to.deep.equal({ kind: 'done', endedAt: 1_000, verdicts: [] })
    expect(failures).to.have.length(1)
    clock.now += PAUSE_MS
    checks.start('')
    expect(asked).to.have.length(2)
  })
})
