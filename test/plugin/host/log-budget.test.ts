import { expect } from 'chai'
import { LogBudget } from '../../../plugin/host/log-budget.ts'
import type { AuthLogEntry } from '../../../plugin/host/port.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const entry = (event: string, code: string, domain = ''): AuthLogEntry => ({
  level: 'warn',
  event,
  message: 'Refused.',
  domain,
  fields: { code },
})

describe('limit of log lines per second', () => {
  let clock: FakeClock
  let lines: AuthLogEntry[]
  let budget: LogBudget
  beforeEach(() => {
    clock = new FakeClock()
    lines = []
    budget = new LogBudget((line) => lines.push(line), clock)
  })
  const write = (times: number, line: AuthLogEntry) => {
    for (let time = 0; time < times; time += 1) budget.write(line)
  }

  // Shows: plugin 10.28.
  it('logs 10 refusals a second per error code, then how many it omitted', async () => {
    write(1_000, entry('login-failed', 'transaction_missing'))
    expect(lines).to.have.length(10)
    await clock.advance(1_000)
    expect(lines).to.have.length(11)
    expect(lines[10]).to.deep.include({
      event: 'lines-left-out',
      fields: { refused: 'login-failed', code: 'transaction_missing', leftOut: 990 },
    })
    write(10, entry('login-failed', 'transaction_missing'))
    expect(lines).to.have.length(21)
    expect(clock.pending).to.equal(0)
  })

  it('counts each omitted log line once even if the timer that logs the count is early', () => {
    const timers: (() => unknown)[] = []
    const early = {
      now: () => 0,
      elapsed: () => 0,
      after: (_ms: number, task: () => unknown) => {
        timers.push(task)
        return { cancel: () => undefined }
      },
    }
    budget = new LogBudget((line) => lines.push(line), early)
    for (const times of [13, 2]) {
      write(times, entry('login-failed', 'transaction_missing'))
      timers.pop()?.()
    }
    const counts = lines.filter(({ event }) => event === 'lines-left-out').map(({ fields }) => fields.leftOut)
    expect(counts).to.deep.equal([3, 2])
  })

  it('log lines are limited separately for each domain, event and code', () => {
    write(20, entry('login-failed', 'transaction_missing'))
    write(10, entry('login-failed', 'not_in_required_group'))
    write(10, entry('login-failed', 'transaction_missing', 'other'))
    write(10, entry('backchannel-logout-refused', 'logout_token_invalid'))
    expect(lines).to.have.length(40)
  })

  // Shows: plugin 10.28.
  it('never omits log lines that only signed-in users or administrators can cause', () => {
    for (const event of ['login', 'configuration-warning', 'session-ended', 'backchannel-logout']) {
      write(100, entry(event, 'deprecated_key'))
    }
    expect(lines).to.have.length(400)
  })

  it('the log writes the number of omitted lines when it closes', () => {
    write(15, entry('login-failed', 'internal', 'one'))
    budget.close()
    expect(lines.at(-1)).to.deep.include({ event: 'lines-left-out', domain: 'one' })
    expect(lines.at(-1)?.fields.leftOut).to.equal(5)
    expect(clock.pending).to.equal(0)
  })
})
