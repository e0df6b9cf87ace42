import { createECDH } from 'node:crypto'
import { expect } from 'chai'
import { makeVapidKeys } from '../../../sidecar/config/vapid-keys.ts'
import { parseSubscription } from '../../../sidecar/push/web-push/subscription.ts'
import { type ApiOptions, type RunningApi, registration, startApi } from '../../support/running-api.ts'

const { publicKey } = makeVapidKeys()
const SUBSCRIPTION = {
  endpoint: 'https://push.example.org/send/abc',
  keys: { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'MDEyMzQ1Njc4OWFiY2RlZg' },
}

describe('Web Push in the API', () => {
  let api: RunningApi
  const start = async (webPush?: ApiOptions['webPush']) => {
    api = await startApi(webPush ? { webPush } : {})
  }
  afterEach(() => api.close())

  const register = (pushToken: unknown) =>
    api.post('/v1/register', registration('N0CALL', { platform: 'webpush', pushToken }))
  const refused = async (pushToken: unknown) => {
    const { status, body } = await register(pushToken)
    expect(status).to.equal(400)
    expect(body.error).to.equal('invalid_request')
    return body.details.map(({ path }) => path)
  }

  // Shows: sidecar C14.13.
  it('GET /v1/webpush returns the public VAPID key to any client', async () => {
    await start({ allowPrivate: false, publicKey })
    const answer = await fetch(`${api.api.url}/v1/webpush`)
    expect(answer.status).to.equal(200)
    expect(await answer.json()).to.deep.equal({ publicKey })
    const post = await fetch(`${api.api.url}/v1/webpush`, { method: 'POST' })
    expect(post.status).to.equal(405)
    expect(post.headers.get('allow')).to.equal('GET, HEAD')
  })

  // Shows: sidecar C14.11.
  it('without Web Push, /v1/webpush returns 404 but stations can still register', async () => {
    await start()
    expect((await fetch(`${api.api.url}/v1/webpush`)).status).to.equal(404)
    expect((await register(JSON.stringify(SUBSCRIPTION))).status).to.equal(200)
  })

  // Shows: sidecar C14.1.
  it('stores only the members of a Web Push subscription that are needed to push', async () => {
    await start()
    expect((await register(JSON.stringify({ ...SUBSCRIPTION, expirationTime: null }, null, 2))).status).to.equal(200)
    const { platform, pushToken = '' } = api.store.stations.get('N0CALL-7')?.devices[0] ?? {}
    expect(platform).to.equal('webpush')
    expect(parseSubscription(pushToken, false)).to.deep.equal({ subscription: SUBSCRIPTION })
    expect(pushToken).to.not.match(/\s|expirationTime/)
  })

  // Shows: sidecar C14.1.
  it('refuses an invalid Web Push subscription, and names all its faults at once', async () => {
    await start()
    expect(await refused('a-token')).to.deep.equal(['pushToken'])
    expect(await refused(SUBSCRIPTION)).to.deep.equal(['pushToken'])
    expect(await refused('x'.repeat(4097))).to.deep.equal(['pushToken'])
    expect(await refused(JSON.stringify({ endpoint: 'http://push.example.org', keys: {} }))).to.deep.equal([
      'pushToken.endpoint',
      'pushToken.keys.p256dh',
      'pushToken.keys.auth',
    ])
    expect(api.store.stations.size).to.equal(0)
  })

  // Shows: sidecar C14.8.
  it('refuses Web Push endpoints in private networks unless allowPrivate is set', async () => {
    const endpoint = 'https://192.168.1.2:8443/up'
    await start()
    expect(await refused(JSON.stringify({ ...SUBSCRIPTION, endpoint }))).to.deep.equal(['pushToken.endpoint'])
    await api.close()
    await start({ allowPrivate: true })
    expect((await register(JSON.stringify({ ...SUBSCRIPTION, endpoint }))).status).to.equal(200)
  })
})
