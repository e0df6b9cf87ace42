import { expect } from 'chai'
import { createTask, getTasks } from 'node-cron'
import { HOURLY, runOnSchedule } from '../../../../sidecar/operator/housekeeping/schedule.ts'
import { deferred } from '../../../support/deferred.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
// Cron expressions are about local time, wherever this runs.
const START = new Date(2026, 0, 1, 12, 30).getTime()
const localTime = (clock: FakeClock) => new Date(clock.now()).toLocaleString('sv')

describe('The housekeeping schedule', () => {
  let clock: FakeClock
  let runs: string[]
  let schedule: { close(): Promise<void> }

  beforeEach(() => {
    clock = new FakeClock(START)
    runs = []
    schedule = runOnSchedule(async () => void runs.push(localTime(clock)), clock)
  })
  afterEach(() => schedule.close())

  // Shows: sidecar C11.1.
  it('schedules one run an hour, but not at minute 0, 15, 30 or 45', async () => {
    const task = createTask(HOURLY, () => {})
    const next = task.getNextRuns(3).map((date) => date.getTime())
    await task.destroy()
    expect(next[1]! - next[0]!).to.deep.equal(HOUR)
    expect(next[2]! - next[1]!).to.deep.equal(HOUR)
    expect(new Date(next[0]!).getMinutes()).to.not.be.oneOf([0, 15, 30, 45])
  })

  // Shows: sidecar C11.1.
  it('calls the scheduled task at 17 minutes past each hour', async () => {
    await clock.advance(2 * HOUR)
    expect(runs).to.deep.equal(['2026-01-01 13:17:00', '2026-01-01 14:17:00'])
  })

  // Shows: sidecar C11.7.
  it('the hourly task follows a clock that jumps forward from 1970, with no extra runs', async () => {
    clock.set(1000)
    await clock.advance(HOUR)
    runs.length = 0
    clock.set(START)
    const usageBefore = process.cpuUsage()
    await clock.advance(HOUR)
    const { user, system } = process.cpuUsage(usageBefore)
    expect(runs).to.deep.equal(['2026-01-01 13:17:00'])
    // A loop over all hours since 1970 would take a hundred times as long.
    expect((user + system) / 1000).to.be.lessThan(2000)
  })

  // Shows: sidecar C11.7.
  it('the hourly task follows a clock that is set back by an hour or by years', async () => {
    clock.set(START - HOUR)
    await clock.advance(HOUR)
    clock.set(START - 4 * 365 * 24 * HOUR)
    await clock.advance(HOUR)
    expect(runs).to.deep.equal(['2026-01-01 12:17:00', '2022-01-02 13:17:00'])
  })

  it('the scheduled task does not run again if the clock is set back by minutes', async () => {
    await clock.advance(48 * MINUTE)
    for (let correction = 0; correction < 3; correction++) {
      clock.set(clock.now() - 4 * MINUTE)
      await clock.advance(5 * MINUTE)
    }
    expect(runs).to.deep.equal(['2026-01-01 13:17:00'])
  })

  it('the scheduled task runs late if the process was busy at the scheduled minute', async () => {
    await clock.advance(46 * MINUTE)
    clock.set(clock.now() + 3 * MINUTE)
    await clock.advance(MINUTE)
    expect(runs).to.have.length(1)
  })

  it('the scheduled task does not start again while it is still running', async () => {
    let calls = 0
    const { promise, resolve } = deferred()
    const everyMinute = '* * * * *'
    const task = () => {
      calls++
      return promise
    }
    const slow = runOnSchedule(task, clock, everyMinute)
    await clock.advance(3 * MINUTE)
    expect(calls).to.equal(1)
    resolve()
    await clock.advance(MINUTE)
    await slow.close()
    expect(calls).to.equal(2)
  })

  it('closing the schedule removes its timer, and is idempotent', async () => {
    await schedule.close()
    const [tasks, timers] = [getTasks().size, clock.pending]
    const another = runOnSchedule(async () => {}, clock)
    await clock.advance(MINUTE)
    expect(getTasks().size).to.deep.equal(tasks + 1)
    expect(clock.pending).to.deep.equal(timers + 1)
    await another.close()
    await another.close()
    expect(getTasks().size).to.deep.equal(tasks)
    expect(clock.pending).to.deep.equal(timers)
  })
})
