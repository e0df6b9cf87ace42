import { createECDH } from 'node:crypto'
import { expect } from 'chai'
import { type ApiAnswer, claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'

/** A public key on P-256, uncompressed. */
const P256DH = createECDH('prime256v1').generateKeys('base64url')

describe('The API with several phones of a station', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi()
  })
  afterEach(() => api.close())

  const as = (deviceId: string | undefined) => (deviceId === undefined ? {} : { deviceId })
  const register = (deviceId: string | undefined, members: object = {}) =>
    api.post('/v1/register', registration('N0CALL', { pushToken: `token-of-${deviceId}`, ...as(deviceId), ...members }))
  const sync = (deviceId: string | undefined, since: number) =>
    api.post('/v1/sync', { ...claim('N0CALL'), ...as(deviceId), since })
  const unregister = (deviceId: string | undefined, members: object = { pushToken: `token-of-${deviceId}` }) =>
    api.post('/v1/unregister', { ...claim('N0CALL'), ...as(deviceId), ...members })
  const receive = (text: string) => append(api.store, message(text, { to: 'N0CALL-7', seqId: '' }))
  const statusAndCode = ({ status, body }: ApiAnswer) => [status, body.error]
  const texts = ({ body }: ApiAnswer) => body.messages.map(({ text }) => text)
  const devices = () => api.store.stations.get('N0CALL-7')?.devices ?? []

  // Shows: sidecar C16.2.
  it('a station remains registered until the last of its phones unregisters', async () => {
    await register('one')
    expect(statusAndCode(await sync('two', 0))).to.deep.equal([404, 'not_registered'])
    expect(statusAndCode(await sync(undefined, 0))).to.deep.equal([404, 'not_registered'])
    expect(statusAndCode(await unregister('two'))).to.deep.equal([404, 'not_registered'])
    await register(undefined)
    await receive('hello')
    expect((await unregister('one')).status).to.equal(200)
    expect(statusAndCode(await sync('one', 0))).to.deep.equal([404, 'not_registered'])
    expect(texts(await sync(undefined, 0))).to.deep.equal(['hello'])
    expect(api.metrics.value('stations_unregistered')).to.equal(0)
    expect((await unregister(undefined)).status).to.equal(200)
    expect(api.store.stations.size).to.equal(0)
    expect(api.metrics.value('stations_unregistered')).to.equal(1)
  })

  // Shows: sidecar C16.14.
  it('a phone that registered without device id needs its push token to unregister', async () => {
    await register(undefined)
    await receive('hello')
    for (const members of [
      {},
      { pushToken: null },
      { pushToken: '' },
      { pushToken: 'token-of-one' },
      { deviceId: null },
    ])
      expect(statusAndCode(await unregister(undefined, members))).to.deep.equal([403, 'wrong_token'])
    expect(texts(await sync(undefined, 0))).to.deep.equal(['hello'])
    expect((await unregister(undefined)).status).to.equal(200)
    expect(statusAndCode(await unregister(undefined))).to.deep.equal([404, 'not_registered'])
  })

  it('a phone can unregister with different JSON of the same Web Push subscription', async () => {
    const { p256dh, auth } = { p256dh: Buffer.from(P256DH, 'base64url'), auth: Buffer.alloc(16, 7) }
    const text = (encoding: 'base64' | 'base64url', more = {}) =>
      JSON.stringify({
        endpoint: 'https://push.example.net/1',
        keys: { p256dh: p256dh.toString(encoding), auth: auth.toString(encoding) },
        ...more,
      })
    await register(undefined, { platform: 'webpush', pushToken: text('base64') })
    expect((await unregister(undefined, { pushToken: text('base64url', { expirationTime: null }) })).status).to.equal(
      200,
    )
  })

  // Shows: sidecar C16.14.
  it('logs when a device or station unregisters, without its device id', async () => {
    await register('one')
    await register(undefined)
    await unregister('one')
    await unregister(undefined)
    const departures = api.logged.flatMap(({ event, level, station, devices }) =>
      String(event).endsWith('-left') ? [[event, level, station, devices]] : [],
    )
    expect(departures).to.deep.equal([
      ['device-left', 'info', 'N0CALL-7', 1],
      ['station-left', 'info', 'N0CALL-7', undefined],
    ])
  })

  // Shows: sidecar C16.15.
  it('a stranger with the passcode cannot make a phone without device id miss messages', async () => {
    const { body } = await register(undefined)
    let cursor = body.serverTime
    const keep = ({ body: { serverTime } }: ApiAnswer) => {
      cursor = Math.max(cursor, serverTime)
    }
    await receive('first')
    const stranger = (members: object = {}) => register(undefined, { pushToken: 'of-a-stranger', ...members })
    await sync(undefined, api.clock.now() + 1)
    keep(await register(undefined))
    await stranger({ since: api.clock.now() + 1, wantHistory: true })
    keep(await api.post('/v1/avatars', { ...claim('N0CALL'), stations: [] }))
    expect((await unregister(undefined, { pushToken: 'of-a-stranger' })).status).to.equal(200)
    keep(await register(undefined))
    const missed = await sync(undefined, cursor)
    expect(texts(missed)).to.deep.equal(['first'])
    expect(devices()).to.have.nested.property('[0].tokenDead', false)
  })

  // Shows: sidecar C16.3.
  it('a station has at most 8 devices, including one without a device id', async () => {
    for (let index = 1; index < 8; index++) await register(`phone-${index}`)
    await register(undefined)
    expect(statusAndCode(await register('one-more'))).to.deep.equal([403, 'devices_full'])
    expect(devices()).to.have.length(8)
  })

  it('logs and counts a new device of a station only at its first registration', async () => {
    await register('one')
    await register('two', { platform: 'ios', pushToken: 'ab'.repeat(32) })
    await register('two', { platform: 'ios', pushToken: 'cd'.repeat(32) })
    const lines = api.logged.filter(({ event }) => event === 'device-joined')
    expect(lines.map(({ station, platform, devices }) => [station, platform, devices])).to.deep.equal([
      ['N0CALL-7', 'ios', 2],
    ])
    expect(api.metrics.value('devices_joined')).to.equal(1)
  })

  // Shows: sidecar C16.5, C16.9.
  it('treats a deviceId of null like a missing deviceId', async () => {
    await register(undefined)
    expect((await api.post('/v1/sync', { ...claim('N0CALL'), deviceId: null, since: 0 })).status).to.equal(200)
    expect((await register(undefined, { deviceId: null })).status).to.equal(200)
    expect(devices().map(({ id }) => id)).to.deep.equal([''])
  })

  // Shows: sidecar C16.5.
  it('accepts a device id of up to 64 visible ASCII characters', async () => {
    for (const deviceId of ['!', '"\\~', 'x'.repeat(64)]) {
      await register(deviceId)
      expect((await sync(deviceId, 0)).status).to.equal(200)
      expect((await unregister(deviceId)).status).to.equal(200)
    }
  })

  for (const deviceId of ['', 'my id', ' ', 'x'.repeat(65), 'grün', 'tab\there', 'line\n', '\u007f', 7, {}, []]) {
    // Shows: sidecar C16.5.
    it(`refuses deviceId ${JSON.stringify(deviceId).slice(0, 20)} without echoing it`, async () => {
      for (const [path, rest] of [
        ['/v1/register', registration('N0CALL')],
        ['/v1/sync', { ...claim('N0CALL'), since: 0 }],
        ['/v1/unregister', claim('N0CALL')],
      ] as const) {
        const { status, body } = await api.post(path, { ...rest, deviceId })
        const reason =
          typeof deviceId === 'string'
            ? 'It must be 1 to 64 visible ASCII characters, without spaces.'
            : 'It must be of type string or null.'
        expect(status).to.equal(400)
        expect(body.details).to.deep.equal([{ path: 'deviceId', reason }])
      }
    })
  }
})
