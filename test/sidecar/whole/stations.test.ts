import { expect } from 'chai'
import { claim, registration } from '../../support/running-api.ts'
import { until } from '../../support/until.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

const SECRETS = ['s3cret-0f-the-phone', 's3cret-0f-the-tablet']
const TABLET = 'ab'.repeat(32)

describe('The stations of a sidecar', () => {
  let whole: WholeSidecar
  beforeEach(async () => {
    whole = await startWholeSidecar()
  })
  afterEach(() => whole.close())

  const phone = { deviceId: SECRETS[0], pushToken: 'phone' }
  const tablet = { deviceId: SECRETS[1], platform: 'ios', pushToken: TABLET }
  const admin = async (path: string, body?: object) => {
    const init = body && { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(whole.sidecar.adminUrl + path, init)
    return { status: answer.status, text: await answer.text() }
  }

  // Shows: sidecar 2.3, 2.13, 15.1, 15.2.
  it('the APRS-IS filter requests messages to registered stations, and no others', async () => {
    await whole.register('N0CALL')
    await whole.register('N1CALL', { platform: 'ios', pushToken: TABLET })
    expect(whole.upstream.clients().map(({ filter }) => filter)).to.deep.equal(['g/N0CALL-7/N1CALL-7'])
    const { bytesOut } = whole.upstream.traffic
    for (const body of ['!4903.50N/07201.75W-', 'T#005,199,000,255,073,123,01101001', '_10090556c220s004g005t077'])
      whole.upstream.inject(`N0CALL-7>APRS,TCPIP*:${body}`)
    whole.upstream.inject('N0CALL-7>APRS,TCPIP*::N9CALL   :to somebody else{1')
    await whole.clock.advance(0)
    expect(whole.upstream.traffic.bytesOut).to.equal(bytesOut)
  })

  // Shows: sidecar C13.1, C13.2.
  for (const [ssid, callsign, status] of [
    [10, 'N0CALL', 403],
    ['16', 'n0call', 403],
    [99, 'N0CALL', 403],
    [0, 'SMSGTE', 403],
    ['X', 'NWS', 403],
    [15, 'N0CALL', 200],
    [10, 'N1CALL', 200],
  ] as const)
    it(`registering ${callsign}-${ssid} returns ${status} if the login is N0CALL-10`, async () => {
      const answer = await whole.post('/v1/register', { ...registration(callsign), ssid })
      expect({ status: answer.status, error: answer.body.error }).to.deep.equal({
        status,
        error: status === 200 ? undefined : 'reserved',
      })
    })

  // Shows: sidecar C16.8.
  it('an operator can unregister a station with all its devices', async () => {
    await whole.register('N0CALL', phone)
    await whole.register('N0CALL', tablet)
    expect((await admin('/unregister', { station: 'n0call-7' })).status).to.equal(200)
    const { status } = await whole.post('/v1/sync', { ...claim('N0CALL'), deviceId: SECRETS[0], since: 0 })
    expect(status).to.equal(404)
    expect(await whole.counter('stations_unregistered')).to.equal(1)
    expect(whole.logged.some((line) => line.includes('"station-ended"') && line.includes('N0CALL-7'))).to.equal(true)
  })

  // Shows: sidecar C16.6.
  it('no answer, log line, page, metric or notification shows a device id', async () => {
    const shown: unknown[] = []
    for (const members of [phone, tablet]) shown.push(await whole.register('N0CALL', { ...members, wantHistory: true }))
    whole.fcm.uninstall('phone')
    await whole.receive('W1AW', 'N0CALL-7', 'Good morning{1')
    await whole.endWindow()
    shown.push(await whole.apns.waitFor(({ token }) => token === TABLET))
    await until('a token that is gone', async () => (await whole.counter('push_tokens_gone')) > 0)
    for (const deviceId of [...SECRETS, `${SECRETS[0]} and a blank`, `${SECRETS[0]}-of-nobody`])
      for (const call of ['register', 'sync', 'avatars', 'unregister', 'unregister'])
        shown.push(await whole.post(`/v1/${call}`, { ...claim('N0CALL'), deviceId, since: 0, stations: [] }))
    for (const page of ['/', '/metrics', '/readyz', '/nothing']) shown.push(await admin(page))
    const everything = JSON.stringify([shown, whole.logged])
    expect(everything)
      .to.include('device-joined')
      .and.include('push-token-gone')
      .and.include('not_registered')
      .and.include('invalid_request')
    expect(everything).to.not.include('s3cret')
  })
})
