import { expect } from 'chai'
import { watchTraffic } from '../../../sidecar/admin/traffic.ts'
import { FakeClock } from '../../support/fake-clock.ts'

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

  it('counts the pushes that are under way, until they are settled in either way', async () => {
    const traffic = watchTraffic(new FakeClock())
    let resolve = () => {}
    let reject = (_: Error) => {}
    const first = new Promise<void>((settle) => {
      resolve = settle
    })
    const second = new Promise<void>((_, fail) => {
      reject = fail
    })
    const push = traffic.pushing((work: Promise<void>) => work)
    const pushes = [push(first), push(second)]
    expect(traffic.pushesUnderWay).to.equal(2)
    resolve()
    await pushes[0]
    expect(traffic.pushesUnderWay).to.equal(1)
    reject(new Error('so'))
    await pushes[1]?.catch(() => undefined)
    expect(traffic.pushesUnderWay).to.equal(0)
  })
})
