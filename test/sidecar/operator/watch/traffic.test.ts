import { expect } from 'chai'
import { watchTraffic } from '../../../../sidecar/operator/watch/traffic.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

describe('the traffic', () => {
  it('is told when a packet last arrived', async () => {
    const clock = new FakeClock()
    const traffic = watchTraffic(clock)
    const receive = traffic.receiving((lines: string[]) => lines.length)
    expect(traffic.lastPacketAt).to.equal(undefined)
    expect(receive(['a', 'b'])).to.equal(2)
    await clock.advance(5000)
    expect(traffic.lastPacketAt).to.equal(clock.now() - 5000)
  })
})
