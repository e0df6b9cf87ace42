import { expect } from 'chai'
import { type ApiAnswer, claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'

describe('The options of a registered phone', () => {
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
  it("an answer is marked truncated if messages after the phone's cursor were dropped", async () => {
    await register()
    await receive('first')
    const cursor = (await sync(0)).body.serverTime
    for (let index = 0; index < 50; index += 1) await receive(`text ${index}`)
    expect((await sync(cursor)).body.truncated).to.equal(undefined)
    expect((await sync(0)).body.truncated).to.equal(true)
    await receive('one more')
    const answers = [await sync(cursor), await register({ wantHistory: true, since: cursor }), await register()]
    expect(answers.map(({ body }) => body.truncated)).to.deep.equal([true, true, undefined])
    expect(texts(await sync(cursor))).to.have.length(50)
  })

  // Shows: sidecar C17.1, C17.3.
  it("messages of a sender that a phone blocks reach only the station's other phones", async () => {
    await register({ deviceId: 'one', blocked: ['n1call-*'] })
    await register({ pushToken: 'another' })
    await receive('spam', { from: 'N1CALL-9' })
    await receive('hello', { from: 'N1CALL' })
    for (const [deviceId, expected] of [
      [null, ['spam', 'hello']],
      ['one', ['hello']],
      [null, ['spam', 'hello']],
    ] as const)
      expect(texts(await sync(0, deviceId))).to.deep.equal(expected)
    const { body } = await register({ deviceId: 'one', wantHistory: true, since: 0, blocked: null })
    expect(body.messages.map(({ text }) => text)).to.deep.equal(['spam', 'hello'])
  })

  // Shows: sidecar C17.3, C17.6.
  it('only phones with anySsid get messages to other SSIDs of the callsign', async () => {
    await register({ deviceId: 'one', anySsid: true })
    await register({ pushToken: 'another' })
    await receive('own')
    expect(texts(await sync(0))).to.deep.equal(['own'])
    await receive('other', { to: 'N0CALL-9', ring: 'N0CALL-7' })
    await receive('later')
    const { body } = await sync(0, 'one')
    expect(body.messages.map(({ to, text }) => [to, text])).to.deep.equal([
      ['N0CALL-7', 'own'],
      ['N0CALL-9', 'other'],
      ['N0CALL-7', 'later'],
    ])
    expect(body.messages[0]).to.have.all.keys('from', 'to', 'seqId', 'text', 'time')
    expect(texts(await sync(0))).to.deep.equal(['own', 'later'])
    const off = await register({ deviceId: 'one', wantHistory: true, since: 0 })
    expect(off.body.messages.map(({ text }) => text)).to.deep.equal(['own', 'later'])
  })

  // Shows: sidecar C17.4.
  it('a phone that wants acks gets them in syncs and with its message history', async () => {
    await register({ deviceId: 'one', wantAcks: true })
    await register({ pushToken: 'another' })
    const cursor = (await sync(0, 'one')).body.serverTime
    await api.store.receivedAcks.append([{ from: 'W1AW', to: 'N0CALL-7', seqId: '12', kind: 'rej' }])
    const history = { deviceId: 'one', wantAcks: true, wantHistory: true, since: cursor }
    const answers = [await sync(cursor, 'one'), await register(history)]
    for (const { body } of answers) {
      expect(body.acks).to.deep.equal([{ from: 'W1AW', seqId: '12', kind: 'rej', time: body.serverTime }])
      expect(body.messages).to.deep.equal([])
    }
    expect((await sync(answers[0]?.body.serverTime ?? 0, 'one')).body.acks).to.deep.equal([])
    expect((await sync(0)).body.acks).to.equal(undefined)
    expect((await register({ deviceId: 'one', wantAcks: true })).body.acks).to.equal(undefined)
    expect((await register({ ...history, wantAcks: false })).body.acks).to.equal(undefined)
  })

  it('a sync lists no avatars of senders that the phone blocked', async () => {
    const hash = 'icon:dog'
    for (const callsign of ['N1CALL', 'N2CALL'])
      await api.post(
        '/v1/register',
        registration(callsign, { avatarUpdate: true, avatarIcon: 'dog', avatarHash: hash }),
      )
    await register({ deviceId: 'one', blocked: ['N2CALL-7'] })
    for (const from of ['N1CALL-7', 'N2CALL-7']) await receive('hello', { from })
    const { body } = await sync(0, 'one')
    expect(body.avatars).to.deep.equal({ 'N1CALL-7': hash })
    expect(body.serverTime).to.be.above(Number(body.messages[0]?.time))
  })
})
