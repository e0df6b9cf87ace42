import { expect } from 'chai'
import { MAX_IN_FLIGHT, openLane } from '../../../../sidecar/push/delivery/lane.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { recordedLog } from '../../../support/recorded-log.ts'

const MOST = MAX_IN_FLIGHT.android

describe('a lane to a gateway', () => {
  function lane(devices: number) {
    const clock = new FakeClock()
    let calls = 0
    const opened = openLane({
      platform: 'android',
      gateway: undefined,
      onRoom: () => (calls += 1),
      clock,
      log: recordedLog().log,
    })
    for (let count = 0; count < devices; count += 1) opened.enter()
    return { ...opened, clock, calls: () => calls }
  }

  it('has room again at once for each device that leaves, where it was not full', () => {
    const { leave, room, calls } = lane(MOST - 1)
    expect(room()).to.equal(1)
    leave()
    leave()
    expect([room(), calls()]).to.deep.equal([3, 2])
  })

  it('that was full has room once 25 places are free, and not for one after the other', () => {
    const { leave, room, calls } = lane(MOST)
    for (let left = 1; left < 25; left += 1) leave()
    expect([room(), calls()]).to.deep.equal([0, 0])
    leave()
    expect([room(), calls()]).to.deep.equal([25, 1])
  })

  it('a full lane reports free slots 10 ms after the first left, and clears its timer', async () => {
    const { leave, room, calls, clock } = lane(MOST)
    leave()
    await clock.advance(9)
    leave()
    expect([room(), calls()]).to.deep.equal([0, 0])
    await clock.advance(1)
    expect([room(), calls()]).to.deep.equal([2, 1])
    expect(clock.pending).to.equal(0)
  })
})
