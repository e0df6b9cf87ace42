import { expect } from 'chai'
import { type ApiAnswer, claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'

describe('the API with options of a phone', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi()
  })
  afterEach(() => api.close())

  const register = (members: object = {}) => api.post('/v1/register', registration('N0CALL', members))
  const sync = (since: number, deviceId: string | null = null) =>
    api.post('/v1/sync', { ...claim('N0CALL'), deviceId, since })
  const receive = (text: string, members: object = {}) =>
    append(api.store, message(text, { to: 'N0CALL-7', seqId: '', ...members }))
  const texts = ({ body }: ApiAnswer) => body.messages.map(({ text }) => text)

  // Shows: sidecar C4.31.
  it('an answer is truncated if the ring dropped messages newer than its cursor', async () => {
    await register()
    await receive('first')
    const cursor = (await sync(0)).body.serverTime
    for (let index = 0; index < 50; index += 1) await receive(`text ${index}`)
    expect([(await sync(cursor)).body.truncated, (await sync(0)).body.truncated]).to.deep.equal([undefined, true])
    await receive('one more')
    const answers = [await sync(cursor), await register({ wantHistory: true, since: cursor }), await register()]
    expect(answers.map(({ body }) => body.truncated)).to.deep.equal([true, true, undefined])
    expect(texts(await sync(cursor))).to.have.length(50)
  })
})
