import { expect } from 'chai'
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
