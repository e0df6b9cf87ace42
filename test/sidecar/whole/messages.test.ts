import { expect } from 'chai'
import { claim, registration } from '../../support/running-api.ts'
import { RETRANSMISSION_MS, startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

describe('A sidecar that receives messages', () => {
  let whole: WholeSidecar
  beforeEach(async () => {
    whole = await startWholeSidecar()
  })
  afterEach(() => whole.close())

  // Shows: sidecar 17.4, C4.1, C4.6, C4.7, F1.7, F1.15.
  it('a sync returns message text as UTF-8, or with textBytes if it is not UTF-8', async () => {
    await whole.register('N0CALL')
    // Every byte but the two that end a line.
    const bytes = Buffer.from([...Array(256).keys()].filter((byte) => byte !== 10 && byte !== 13))
    const blanks = '  Grüße {an} alle \t '
    await whole.receive('N1CALL', 'N0CALL-7', Buffer.concat([bytes, Buffer.from('{7')]))
    await whole.receive('N1CALL', 'N0CALL-7', `${blanks}{8`)
    const shown = { from: 'N1CALL', to: 'N0CALL-7' }
    expect(await whole.messages('N0CALL')).to.deep.equal([
      { ...shown, seqId: '7', text: bytes.toString('latin1'), textBytes: bytes.toString('base64') },
      { ...shown, seqId: '8', text: blanks },
    ])
  })

  // Shows: sidecar C17.6, C17.7, C17.8.
  it('messages to other SSIDs notify a phone with anySsid, but get no ack', async () => {
    await whole.register('N0CALL', { anySsid: true, ackMessages: true })
    const filters = () => whole.upstream.clients().map(({ filter }) => filter)
    await whole.upstream.until(() => filters().join().includes('N0CALL*'))
    await whole.receive('N1CALL', 'N0CALL-9', 'for another SSID{1')
    await whole.receive('N1CALL', 'N0CALLX', 'for another callsign{2')
    await whole.receive('N1CALL', 'N0CALL-7', 'for this one{3')
    await whole.endWindow()
    const push = await whole.fcm.waitFor(({ data }) => data.count === '2')
    expect(push.data).to.include({ to: 'N0CALL-7', collapseId: 'aprs-N0CALL-7' })
    expect((await whole.messages('N0CALL')).map(({ to, text }) => [to, text])).to.deep.equal([
      ['N0CALL-9', 'for another SSID'],
      ['N0CALL-7', 'for this one'],
    ])
    expect(whole.acks()).to.deep.equal(['N0CALL-7>APRS,TCPIP*::N1CALL   :ack3'])
    await whole.post('/v1/register', registration('N0CALL', { ackMessages: true }))
    await whole.register('N2CALL')
    expect(filters().join()).to.not.include('*')
    expect((await whole.messages('N0CALL')).map(({ to }) => to)).to.deep.equal(['N0CALL-7'])
  })

  // Shows: sidecar C17.4.
  it('a phone that wants acks gets those of the messages that its user sent', async () => {
    await whole.register('N0CALL', { wantAcks: true })
    await whole.receive('N1CALL', 'N0CALL-7', 'ack42')
    const { body } = await whole.post('/v1/sync', { ...claim('N0CALL'), since: 0 })
    expect(body.acks).to.deep.equal([{ from: 'N1CALL', seqId: '42', kind: 'ack', time: body.serverTime }])
  })

  // Shows: sidecar 2.4, 16.1, 16.2, 19.3, F1.8.
  it('acknowledges each retransmission, but stores and pushes the message once', async () => {
    await whole.register('N0CALL', { ackMessages: true })
    for (let times = 0; times < 3; times++) {
      await whole.receive('N1CALL', 'N0CALL-7', 'hello{42')
      await whole.endWindow()
      await whole.fcm.waitFor(({ body }) => body === 'hello')
      await whole.clock.advance(RETRANSMISSION_MS)
    }
    expect(whole.acks()).to.deep.equal(Array(3).fill('N0CALL-7>APRS,TCPIP*::N1CALL   :ack42'))
    expect(whole.upstream.received.map(({ outcome }) => outcome)).to.not.include('duplicate')
    expect(await whole.messages('N0CALL')).to.have.length(1)
    await whole.receive('N1CALL', 'N0CALL-7', 'another')
    await whole.endWindow()
    await whole.fcm.waitFor(({ body }) => body === 'another')
    expect(whole.fcm.received.map(({ body }) => body)).to.deep.equal(['hello', 'another'])
  })
})
