import { expect } from 'chai'
import { createTask, getTasks } from 'node-cron'
import { HOURLY, runOnSchedule } from '../../../sidecar/housekeeping/schedule.ts'

const EVERY_SECOND = '* * * * * *'

describe('the schedule', () => {
  it('comes once an hour, off the full hour', async () => {
    const task = createTask(HOURLY, () => {})
    const runs = task.getNextRuns(3).map((date) => date.getTime())
    await task.destroy()
    expect([runs[1]! - runs[0]!, runs[2]! - runs[1]!]).to.deep.equal([3_600_000, 3_600_000])
    expect(new Date(runs[0]!).getMinutes()).to.not.be.oneOf([0, 15, 30, 45])
  })

  it('calls the task when its time has come, and again', async () => {
    const schedules: { close(): Promise<void> }[] = []
    await new Promise<void>((resolve) => {
      let calls = 0
      schedules.push(
        runOnSchedule(async () => {
          if (++calls === 2) resolve()
        }, EVERY_SECOND),
      )
    })
    for (const schedule of schedules) await schedule.close()
  })

  it('calls nothing any more once it is closed, twice if asked to, and leaves nothing behind', async () => {
    const before = getTasks().size
    const schedule = runOnSchedule(async () => {})
    expect(getTasks().size).to.equal(before + 1)
    await schedule.close()
    await schedule.close()
    expect(getTasks().size).to.equal(before)
  })
})
