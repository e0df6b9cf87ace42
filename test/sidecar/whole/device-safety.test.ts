import { expect } from 'chai'
import { claim } from '../../support/running-api.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

const SECRETS = ['s3cret-0f-the-phone', 's3cret-0f-the-tablet']
const TABLET = 'ab'.repeat(32)

describe('A station whose passcode anybody can compute', () => {
  let its: WholeSidecar
  beforeEach(async () => {
    its = await startWholeSidecar()
  })
  afterEach(() => its.close())

  const phone = { deviceId: SECRETS[0], pushToken: 'phone' }
  const tablet = { deviceId: SECRETS[1], platform: 'ios', pushToken: TABLET }
  const admin = async (path: string, body?: object) => {
    const init = body && { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(its.sidecar.adminUrl + path, init)
    return { status: answer.status, text: await answer.text() }
  }

  it('loses no notifications by what others register and unregister', async () => {
    await its.register('N0CALL', phone)
    await its.register('N0CALL', { pushToken: 'of somebody who computed the passcode'.replaceAll(' ', '-') })
    await its.unregister('N0CALL')
    await its.receive('W1AW', 'N0CALL-7', 'Good morning')
    await its.endWindow()
    await its.fcm.waitFor((message) => message.token === 'phone')
  })

  it('is ended with all its devices by the operator, who sees how many there are', async () => {
    await its.register('N0CALL', phone)
    await its.register('N0CALL', tablet)
    const { text } = await admin('/metrics')
    for (const line of ['stations{platform="android"} 1', 'devices{platform="android"} 1', 'devices{platform="ios"} 1'])
      expect(text).to.include(`mesh_companion_${line}\n`)
    const ended = await admin('/unregister', { station: 'n0call-7' })
    expect([ended.status, JSON.parse(ended.text)]).to.deep.equal([200, { station: 'N0CALL-7' }])
    expect((await admin('/unregister', { station: 'N0CALL-7' })).status).to.equal(404)
    const { status } = await its.post('/v1/sync', { ...claim('N0CALL'), deviceId: SECRETS[0], since: 0 })
    expect(status).to.equal(404)
    expect(await its.counter('stations_unregistered')).to.equal(1)
    expect(its.logged.some((line) => line.includes('"station-ended"') && line.includes('N0CALL-7'))).to.equal(true)
  })

  it('has the ids of its devices shown nowhere: not in an answer, a refusal, a line of the log, a page, a metric or a notification', async () => {
    const shown: unknown[] = []
    for (const members of [phone, tablet]) shown.push(await its.register('N0CALL', { ...members, wantHistory: true }))
    its.fcm.uninstall('phone')
    await its.receive('W1AW', 'N0CALL-7', 'Good morning{1')
    await its.endWindow()
    shown.push(await its.apns.waitFor(({ token }) => token === TABLET))
    while ((await its.counter('push_tokens_gone')) === 0);
    for (const deviceId of [...SECRETS, `${SECRETS[0]} and a blank`, `${SECRETS[0]}-of-nobody`])
      for (const call of ['register', 'sync', 'avatars', 'unregister', 'unregister'])
        shown.push(await its.post(`/v1/${call}`, { ...claim('N0CALL'), deviceId, since: 0, stations: [] }))
    for (const page of ['/', '/metrics', '/readyz', '/nothing']) shown.push(await admin(page))
    const everything = JSON.stringify([shown, its.logged])
    expect(everything)
      .to.include('device-joined')
      .and.include('push-token-gone')
      .and.include('not_registered')
      .and.include('invalid_request')
    expect(everything).to.not.include('s3cret')
  })
})
