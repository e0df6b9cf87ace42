import { expect } from 'chai'
import { openPushTimers } from '../../../../../sidecar/store/postgres/pushes/push-timers.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'

describe('The push timers of an instance', () => {
  let clock: FakeClock
  let timers: ReturnType<typeof openPushTimers>
  let rung: number[]
  beforeEach(() => {
    clock = new FakeClock()
    timers = openPushTimers(clock)
    rung = []
  })
  const listen = () => timers.onRing(() => rung.push(clock.elapsed()))

  it('the push timer fires at once for a new listener, then each second', async () => {
    listen()
    await clock.advance(3000)
    expect(rung).to.deep.equal([0, 1000, 2000, 3000])
  })

  it('the push timer fires once for pushes due within 50 ms, and never early', async () => {
    listen()
    await clock.advance(10)
    for (let delay = 0; delay < 100; delay += 1) timers.ring(500 + delay)
    await clock.advance(900)
    expect(rung).to.deep.equal([0, 550, 600, 650])
  })

  it('no push timer runs without a listener, or after close', async () => {
    await clock.advance(5000)
    expect(clock.pending).to.equal(0)
    listen()
    timers.ring(700)
    timers.close()
    timers.ring(100)
    listen()
    await clock.advance(5000)
    expect(rung).to.deep.equal([])
    expect(clock.pending).to.equal(0)
  })
})
