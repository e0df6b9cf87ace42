import { expect } from 'chai'
import { openPushTimers } from '../../../../../sidecar/store/postgres/pushes/push-timers.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'

describe('The timers of pushes that instances share', () => {
  let clock: FakeClock
  let timers: ReturnType<typeof openPushTimers>
  let rung: number[]
  beforeEach(() => {
    clock = new FakeClock()
    timers = openPushTimers(clock)
    rung = []
  })
  const listen = () => timers.onRing(() => rung.push(clock.elapsed()))

  it('ring at once for a listener, and each second for what others left', async () => {
    listen()
    await clock.advance(3000)
    expect(rung).to.deep.equal([0, 1000, 2000, 3000])
  })

  it('ring once for all that is due within a twentieth of a second, never before it is', async () => {
    listen()
    await clock.advance(10)
    for (let delay = 0; delay < 100; delay += 1) timers.ring(500 + delay)
    await clock.advance(900)
    expect(rung).to.deep.equal([0, 550, 600, 650])
  })

  it('has no timers while there is no listener, and once it is closed', async () => {
    await clock.advance(5000)
    expect(clock.pending).to.equal(0)
    listen()
    timers.ring(700)
    timers.close()
    timers.ring(100)
    listen()
    await clock.advance(5000)
    expect([rung, clock.pending]).to.deep.equal([[], 0])
  })
})
