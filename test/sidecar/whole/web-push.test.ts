import { expect } from 'chai'
import { type SubscriptionJson, startWebPush, type WebPushFixture } from '../../../fixtures/push/webpush.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { COALESCE_MS, startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

describe('A push of the sidecar to a phone without Google', () => {
  let service: WebPushFixture
  const folder = temporaryFolder()
  let its: WholeSidecar
  const start = async (settings: object = {}) => {
    const webpush = { ...service.settings, keyFile: folder.path('keys.json'), ...settings }
    its = await startWholeSidecar({ push: { coalesceMs: COALESCE_MS, webpush } })
  }
  const publicKey = async () =>
    ((await (await fetch(`${its.sidecar.url}/v1/webpush`)).json()) as { publicKey: string }).publicKey
  const register = (phone: SubscriptionJson) =>
    its.register('N0CALL', { platform: 'webpush', pushToken: JSON.stringify(phone) })
  const message = async (text: string) => {
    await its.receive('N9CALL', 'N0CALL-7', text)
    await its.endWindow()
  }
  beforeEach(async () => {
    service = await startWebPush()
    await start()
  })
  afterEach(async () => {
    await its.close()
    await service.close()
  })

  it('arrives by the push service that the phone chose, readable to the phone alone, with the specified data', async () => {
    const phone = service.subscribe(await publicKey())
    expect((await register(phone)).status).to.equal(200)
    await message('Good morning{12')
    const { endpoint, payload } = await service.waitFor(() => true)
    expect(endpoint).to.equal(phone.endpoint)
    expect(payload).to.deep.equal({
      title: 'N9CALL',
      body: 'Good morning',
      fromCall: 'N9CALL',
      seqId: '12',
      to: 'N0CALL-7',
      count: '1',
      collapseId: 'aprs-N0CALL-7',
    })
  })
})
