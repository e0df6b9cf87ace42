import { expect } from 'chai'
import { ClientError, createCalls, readPush } from '../../../sidecar/client/index.ts'
import { buildNotification } from '../../../sidecar/push/gateway/notification.ts'
import { errorOf } from '../../support/error-of.ts'
import { claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'

describe('The API calls of the client', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi({ webPush: { allowPrivate: false, publicKey: 'BPublic' } })
  })
  afterEach(() => api.close())

  it('each client call accepts a base URL with or without a final slash', async () => {
    for (const baseUrl of [api.api.url, `${api.api.url}/`]) {
      const calls = createCalls({ baseUrl })
      const register = { ...registration('N0CALL'), platform: 'android' as const }
      expect(await calls.register(register)).to.include({ avatarHash: '' })
      expect((await calls.sync({ ...claim('N0CALL'), since: 0 })).messages).to.deep.equal([])
      expect((await calls.avatars({ ...claim('N0CALL'), stations: [] })).avatars).to.deep.equal({})
      expect(await calls.webPush()).to.deep.equal({ publicKey: 'BPublic' })
      const { pushToken } = register
      expect((await calls.unregister({ ...claim('N0CALL'), pushToken })).serverTime).to.be.a('number')
    }
  })

  it("a refused client call rejects with the API's error code and details", async () => {
    const calls = createCalls({ baseUrl: api.api.url })
    const unknown = await errorOf(calls.sync({ ...claim('N0CALL'), since: 0 }))
    expect(unknown).to.be.instanceOf(ClientError).and.include({ code: 'not_registered', passing: false })
    const invalid = await errorOf(calls.sync({ ...claim('N0CALL'), since: Number.NaN }))
    expect(invalid).to.deep.include({
      code: 'invalid_request',
      details: [{ path: 'since', reason: 'It must be of type integer.' }],
    })
  })

  it('a client call rejects as retryable if no server answers, or over a rate limit', async () => {
    await api.close()
    const away = await errorOf(createCalls({ baseUrl: api.api.url }).webPush())
    api = await startApi({ rateLimit: { max: 0 }, listen: { trustProxy: true } })
    const over = await errorOf(createCalls({ baseUrl: api.api.url }).webPush())
    for (const refusal of [away, over]) expect(refusal).to.include({ code: 'unreachable', passing: true })
  })
})

describe('A push as the app receives it', () => {
  const newest = { from: 'N1CALL', to: 'N0CALL-7', seqId: '1', text: Buffer.from('Hello'), stamp: 1 }

  it('readPush reads the members from the sidecar even if the platform adds others', () => {
    const { data } = buildNotification('N0CALL-7', { count: 1, newest }, 'none')
    expect(readPush({ ...data, aps: {} })).to.include({ fromCall: 'N1CALL', count: '1' })
  })

  it("readPush returns undefined for a push without the sidecar's members", () => {
    for (const data of [undefined, null, 'text', {}, { fromCall: 5 }]) expect(readPush(data)).to.equal(undefined)
  })
})
