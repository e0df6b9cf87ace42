import { expect } from 'chai'
import { createTurns } from '../../../../plugin/host/stored/key-queues.ts'
import { type TimeLimit, timeLimit } from '../../../../plugin/host/time-limit.ts'
import { deferred } from '../../../support/deferred.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { messageOf } from '../../../support/message-of.ts'

const patient: TimeLimit = (work) => work

describe('Turns', () => {
  it('come in the order of the calls, one at a time by key, and not behind those of another key', async () => {
    const turns = createTurns()
    const seen: string[] = []
    const { promise: open, resolve: release } = deferred()
    const first = turns('a', patient, async () => {
      seen.push('a1 begins')
      await open
      seen.push('a1 ends')
    })
    const second = turns('a', patient, async () => void seen.push('a2'))
    await turns('b', patient, async () => void seen.push('b'))
    release()
    await Promise.all([first, second])
    expect(seen).to.deep.equal(['a1 begins', 'b', 'a1 ends', 'a2'])
  })

  it('go on after one that failed', async () => {
    const turns = createTurns()
    const failed = turns('a', patient, () => Promise.reject(new Error('no')))
    const next = turns('a', patient, async () => 'yes')
    expect(await messageOf(failed)).to.equal('no')
    expect(await next).to.equal('yes')
  })

  it('are kept by what takes too long until it ends, and what gave up meanwhile is not begun', async () => {
    const turns = createTurns()
    const { promise: open, resolve: release } = deferred()
    const seen: string[] = []
    const clock = new FakeClock()
    const hasty = timeLimit(clock, 5_000)
    const slow = messageOf(
      turns('a', hasty, async () => {
        await open
        seen.push('slow')
      }),
    )
    const gaveUp = messageOf(turns('a', hasty, async () => void seen.push('gave up')))
    await clock.advance(5_000)
    expect(await slow).to.match(/in time/)
    expect(await gaveUp).to.match(/in time/)
    const waiting = turns('a', patient, async () => void seen.push('patient'))
    expect(seen).to.deep.equal([])
    release()
    await waiting
    expect(seen).to.deep.equal(['slow', 'patient'])
  })

  it('are refused when too many wait', async () => {
    const turns = createTurns()
    const { promise: open, resolve: release } = deferred()
    const waiting = Array.from({ length: 10_000 }, () => turns('a', patient, () => open))
    expect(await messageOf(turns('b', patient, async () => undefined))).to.match(/^Too many changes wait/)
    release()
    await Promise.all(waiting)
    await turns('b', patient, async () => undefined)
  })
})
