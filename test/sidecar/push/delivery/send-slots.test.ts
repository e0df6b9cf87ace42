import { expect } from 'chai'
import { MAX_IN_FLIGHT, SendSlots } from '../../../../sidecar/push/delivery/send-slots.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const MOST = MAX_IN_FLIGHT.android

describe('The send slots of a push gateway', () => {
  function open(devices: number) {
    const clock = new FakeClock()
    let wakeUps = 0
    const slots = new SendSlots({ platform: 'android', onFree: () => (wakeUps += 1), clock })
    for (let count = 0; count < devices; count += 1) slots.take()
    return { slots, clock, shown: () => [slots.free, wakeUps] }
  }

  it('a released send slot is reusable at once if another slot was still free', () => {
    const { slots, shown } = open(MOST - 1)
    expect(slots.free).to.equal(1)
    slots.release()
    slots.release()
    expect(shown()).to.deep.equal([3, 2])
  })

  it('released send slots become reusable in groups of 25 if no slot was free', () => {
    const { slots, shown } = open(MOST)
    for (let released = 1; released < 25; released += 1) slots.release()
    expect(shown()).to.deep.equal([0, 0])
    slots.release()
    expect(shown()).to.deep.equal([25, 1])
  })

  it('fewer than 25 released send slots become reusable 10 ms after the first release', async () => {
    const { slots, clock, shown } = open(MOST)
    slots.release()
    await clock.advance(9)
    slots.release()
    expect(shown()).to.deep.equal([0, 0])
    await clock.advance(1)
    expect(shown()).to.deep.equal([2, 1])
    expect(clock.pending).to.equal(0)
  })
})
