import { expect } from 'chai'
import { claim, registration } from '../../support/running-api.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

describe('The filter of a sidecar', () => {
  let its: WholeSidecar
  let asked: string[]

  async function start(config: object = {}) {
    its = await startWholeSidecar(config)
    asked = []
    its.upstream.events.on('filter', (_, { text }) => asked.push(text))
    await its.upstream.until(() => its.upstream.clients().length === 1)
  }
  beforeEach(() => start())
  afterEach(() => its.close())

  it('asks for messages to the registered stations and for nothing else', async () => {
    await its.register('N0CALL')
    await its.register('N1CALL', { platform: 'ios', pushToken: 'a'.repeat(64) })
    expect(its.upstream.clients().map(({ filter }) => filter)).to.deep.equal(['g/N0CALL-7/N1CALL-7'])
    const { bytesOut } = its.upstream.traffic
    for (const body of ['!4903.50N/07201.75W-', 'T#005,199,000,255,073,123,01101001', '_10090556c220s004g005t077'])
      its.upstream.inject(`N0CALL-7>APRS,TCPIP*:${body}`)
    its.upstream.inject('N0CALL-7>APRS,TCPIP*::N9CALL   :to somebody else{1')
    await its.clock.advance(0)
    expect(its.upstream.traffic.bytesOut).to.equal(bytesOut)
  })

  it('is sent when a station registers or unregisters, and not for a heartbeat, a sync or a message', async () => {
    await its.register('N0CALL')
    await its.register('N1CALL')
    await its.unregister('N1CALL')
    await its.clock.advance(2000)
    await its.receive('N9CALL', 'N0CALL-7', 'one')
    const whole = ['g/N0CALL-7', 'g/N0CALL-7/N1CALL-7', 'g/N0CALL-7', 'g/MARK-7/N0CALL-7']
    expect(asked).to.deep.equal(whole)

    const { bytesIn, logins } = its.upstream.traffic
    for (const members of [{}, { pushToken: 'another-token' }, { avatarUpdate: true, avatarIcon: 'dog' }]) {
      await its.post('/v1/register', registration('N0CALL', { wantHistory: true, ...members }))
      await its.post('/v1/sync', { ...claim('N0CALL'), since: 0 })
      await its.clock.advance(10_000)
    }
    await its.receive('N9CALL', 'N0CALL-7', 'two')
    const mark = its.upstream.received.at(-1)
    expect(its.upstream.traffic).to.include({ logins, bytesIn: bytesIn + (mark?.bytes.length ?? 0) + 2 })
    expect(asked).to.deep.equal(whole)
  })

  it('has no b/ by default, and asks for what stations send where aprsis.trackOutgoing says so', async () => {
    await its.register('N0CALL')
    expect(its.upstream.clients()[0]?.filter).to.equal('g/N0CALL-7')
    await its.close()
    await start({ aprsis: { trackOutgoing: true } })
    await its.register('N0CALL')
    expect(its.upstream.clients()[0]?.filter).to.equal('g/N0CALL-7 b/N0CALL-7')
  })
})
