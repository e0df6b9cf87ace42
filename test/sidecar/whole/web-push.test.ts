import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type SubscriptionJson, startWebPush, type WebPushFixture } from '../../../fixtures/push/webpush.ts'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { pngOfLength } from '../../support/png-of-length.ts'
import { COALESCE_MS, startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

describe('A push of the sidecar to a phone without Google', () => {
  let service: WebPushFixture
  let folder: string
  let its: WholeSidecar
  const start = async (settings: object = {}) => {
    const webpush = { ...service.settings, keyFile: join(folder, 'keys.json'), ...settings }
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
  /** Whether something came for a phone whose subscription has ended, and was not sent. */
  const isLetRest = async () => {
    const metrics = await (await fetch(`${its.sidecar.adminUrl}/metrics`)).text()
    return /pushes_unsendable_total\{platform="webpush",reason="token_dead"\} [1-9]/.test(metrics)
  }

  beforeEach(async () => {
    service = await startWebPush()
    folder = await mkdtemp(join(tmpdir(), 'web-push-'))
    await start()
  })
  afterEach(async () => {
    await its.close()
    await service.close()
    await rm(folder, { recursive: true })
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

  it('stays within 4,096 bytes encrypted, where the image goes first and the text stays whole', async () => {
    const image = pngOfLength(3000)
    await its.register('N9CALL', { avatarUpdate: true, avatarIcon: 'dog', avatarImage: image })
    await register(service.subscribe())
    await its.receive('N9CALL-7', 'N0CALL-7', 'short{1')
    await its.endWindow()
    const whole = await service.waitFor(() => true)
    expect(whole.payload).to.include({ fromAvatarImage: image, fromAvatarHash: avatarHash('dog', image) })
    const text = '"'.repeat(440)
    await its.receive('N9CALL-7', 'N0CALL-7', text)
    await its.endWindow()
    const { size, payload } = await service.waitFor(({ payload }) => payload.body === text)
    expect(size).to.be.at.most(4096)
    expect(payload).to.include({ fromAvatarIcon: 'dog' }).and.not.have.property('fromAvatarImage')
  })

  it('stops when the subscription has ended, until the phone registers another, and what came meanwhile waits in the history', async () => {
    const phone = service.subscribe()
    await register(phone)
    service.unsubscribe(phone)
    await message('one')
    while ((await its.counter('push_tokens_gone')) === 0);
    await message('two')
    while (!(await isLetRest())) await its.endWindow()
    const next = service.subscribe()
    await register(next)
    await message('three')
    const { endpoint, payload } = await service.waitFor(() => true)
    expect([endpoint, payload.body]).to.deep.equal([next.endpoint, 'three'])
    expect(service.attempts).to.equal(2)
    expect((await its.messages('N0CALL')).map(({ text }) => text)).to.deep.equal(['one', 'two', 'three'])
  })

  it('is tried again when the push service said it should wait', async () => {
    await register(service.subscribe())
    service.fail({ status: 429, headers: { 'retry-after': '60' } })
    await message('patience')
    while ((await its.counter('pushes_retried')) === 0);
    await its.clock.advance(59_000)
    expect(service.attempts).to.equal(1)
    await its.clock.advance(3_000)
    expect((await service.waitFor(() => true)).payload).to.include({ body: 'patience' })
  })

  it('still arrives after a restart: the subscription was made with keys that are kept', async () => {
    const phone = service.subscribe(await publicKey())
    const before = await publicKey()
    await its.close()
    await start()
    expect(await publicKey()).to.equal(before)
    await register(phone)
    await message('after')
    expect((await service.waitFor(() => true)).payload).to.include({ body: 'after' })
  })

  it('is none for a subscription that was made with the keys of another server: the app has to subscribe anew', async () => {
    const elsewhere = `B${'A'.repeat(86)}`
    await register(service.subscribe(elsewhere))
    await message('one')
    while ((await its.counter('push_tokens_gone')) === 0);
    expect(service.received).to.deep.equal([])
  })

  it('never goes into a private network, whatever a phone registers', async () => {
    const phone = service.subscribe()
    await register(phone)
    await its.close()
    await start({ allowPrivate: false })
    const { status, body } = await its.post('/v1/register', {
      callsign: 'N0CALL',
      ssid: 7,
      auth: 13023,
      platform: 'webpush',
      pushToken: JSON.stringify(phone),
      ackMessages: false,
    })
    expect([status, body.details[0]?.path]).to.deep.equal([400, 'pushToken.endpoint'])
    expect(service.attempts).to.equal(0)
  })

  it('is off without a subject: its stations register and sync', async () => {
    await its.close()
    await start({ subject: null })
    expect((await fetch(`${its.sidecar.url}/v1/webpush`)).status).to.equal(404)
    await register(service.subscribe())
    await message('one')
    while ((await its.counter('pushes_unsendable')) === 0) await its.endWindow()
    expect((await its.messages('N0CALL')).map(({ text }) => text)).to.deep.equal(['one'])
    expect(service.attempts).to.equal(0)
  })
})
