import { expect } from 'chai'
import { startWebPush, type WebPushFixture } from '../../../fixtures/push/webpush.ts'
import { claim } from '../../support/running-api.ts'
import { COALESCE_MS, startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

const CALL = 'N0CALL'
const TOKEN = 'ab'.repeat(32)

describe('A station with three devices of three platforms', () => {
  let service: WebPushFixture
  let its: WholeSidecar
  let browser: string
  beforeEach(async () => {
    service = await startWebPush()
    its = await startWholeSidecar({ push: { coalesceMs: COALESCE_MS, webpush: service.settings } }, true)
    browser = JSON.stringify(service.subscribe())
    await its.register(CALL)
    await its.register(CALL, { deviceId: 'tablet', platform: 'ios', pushToken: TOKEN, ackMessages: true })
    await its.register(CALL, { deviceId: 'browser', platform: 'webpush', pushToken: browser })
  })
  afterEach(async () => {
    await its.close()
    await service.close()
  })

  const message = async (field: string) => {
    await its.receive('N9CALL', `${CALL}-7`, field)
    await its.endWindow()
  }
  const texts = async (deviceId: string | undefined, since = 0) => {
    const { body } = await its.post('/v1/sync', { ...claim(CALL), deviceId, since })
    return body.messages.map(({ text }) => text)
  }
  /** The number of messages that each of a device's notifications was about. */
  const toldByFcm = () => its.fcm.received.map(({ data }) => data.count)
  const toldByApns = () => its.apns.received.flatMap(({ token, data }) => (token === TOKEN ? [data.count] : []))
  const toldByWebPush = () => service.received.map(({ payload }) => payload.count)

  it('has each message stored once, told to each of them, and acknowledged once', async () => {
    const before = await its.counter('messages_stored')
    await message('Good morning{12')
    await its.fcm.waitFor(() => true)
    await its.apns.waitFor(({ token }) => token === TOKEN)
    await service.waitFor(() => true)
    // One more is of those marks that say when all is through.
    expect((await its.counter('messages_stored')) - before).to.equal(2)
    expect(its.acks()).to.deep.equal(['N0CALL-7>APRS,TCPIP*::N9CALL   :ack12'])
    for (const deviceId of [undefined, 'tablet', 'browser'])
      expect(await texts(deviceId)).to.deep.equal(['Good morning'])
    expect([toldByFcm(), toldByApns(), toldByWebPush()]).to.deep.equal([['1'], ['1'], ['1']])
  })
})
