import { expect } from 'chai'
import { RETRANSMISSION_MS, startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

/** Within which the link logs in again after it lost its connection. */
const RECONNECT_MS = 5000

describe('A sidecar that acknowledges', () => {
  let its: WholeSidecar
  beforeEach(async () => {
    its = await startWholeSidecar()
  })
  afterEach(() => its.close())

  it('does so for a station with ackMessages, when a sync shows the message already', async () => {
    await its.register('N0CALL', { ackMessages: true })
    its.upstream.inject('N1CALL>APRS,TCPIP*::N0CALL-7 :hello{42')
    const { line, outcome } = await its.upstream.waitFor(({ line }) => line.includes(':ack'))
    expect([line, outcome]).to.deep.equal(['N0CALL-7>APRS,TCPIP*::N1CALL   :ack42', 'passed'])
    expect(await its.messages('N0CALL')).to.have.length(1)
  })

  it('does so for each retransmission that the network passes, storing and pushing the message once', async () => {
    await its.register('N0CALL', { ackMessages: true })
    for (let times = 0; times < 3; times++) {
      await its.receive('N1CALL', 'N0CALL-7', 'hello{42')
      await its.endWindow()
      await its.fcm.waitFor(({ body }) => body === 'hello')
      await its.clock.advance(RETRANSMISSION_MS)
    }
    expect(its.acks()).to.deep.equal(Array(3).fill('N0CALL-7>APRS,TCPIP*::N1CALL   :ack42'))
    expect(its.upstream.received.map(({ outcome }) => outcome)).to.not.include('duplicate')
    expect(await its.messages('N0CALL')).to.have.length(1)
    await its.receive('N1CALL', 'N0CALL-7', 'another')
    await its.endWindow()
    await its.fcm.waitFor(({ body }) => body === 'another')
    expect(its.fcm.received.map(({ body }) => body)).to.deep.equal(['hello', 'another'])
  })

  it('does so for the same message once in 31 s, by whatever ways it comes', async () => {
    await its.register('N0CALL', { ackMessages: true })
    await its.receiveLines(
      'N1CALL>APRS,TCPIP*::N0CALL-7 :hello{42',
      'GATE>APRS,TCPIP*:}N1CALL>APK004,WIDE1-1,GATE*::N0CALL-7 :hello{42',
    )
    expect(its.acks()).to.have.length(1)
    expect(await its.counter('acks_throttled')).to.equal(1)
  })

  it('does so for at most 10 messages of a sender to it in a minute', async () => {
    await its.register('N0CALL', { ackMessages: true })
    await its.receiveLines(
      ...Array.from({ length: 12 }, (_, n) => `N1CALL>APRS,TCPIP*::N0CALL-7 :message ${n}{${n}`),
      'N2CALL>APRS,TCPIP*::N0CALL-7 :mine{1',
    )
    expect(its.acks().filter((line) => line.includes(':N1CALL '))).to.have.length(10)
    expect(its.acks()).to.include('N0CALL-7>APRS,TCPIP*::N2CALL   :ack1')
    expect(await its.messages('N0CALL')).to.have.length(13)
  })

  it('does not do so for a station that says ackMessages false, nor for a message without number', async () => {
    await its.register('N0CALL', { ackMessages: false })
    await its.register('N2CALL', { ackMessages: true })
    await its.receive('N1CALL', 'N0CALL-7', 'hello{42')
    await its.receive('N1CALL', 'N2CALL-7', 'hello')
    expect(its.acks()).to.deep.equal([])
    await its.register('N0CALL', { ackMessages: true })
    await its.clock.advance(RETRANSMISSION_MS)
    await its.receive('N1CALL', 'N0CALL-7', 'hello{42')
    expect(its.acks()).to.deep.equal(['N0CALL-7>APRS,TCPIP*::N1CALL   :ack42'])
  })

  for (const [field, number] of [
    ['hello{42 ', '42'],
    ['hello{AB} ', 'AB}'],
    ['hello{AB}CD ', 'AB}CD'],
    ['hello{~!"}$ ', '~!"}$'],
    ['hello{42\0', '42'],
    ['hello{42\x1c', '42'],
    ['hello{42\x7f', '42'],
    ['hello{42 \0 ', '42'],
  ] as const) {
    it(`gives the number ${number} of ${JSON.stringify(field)} back as it came`, async () => {
      await its.register('N0CALL', { ackMessages: true })
      await its.receive('N1CALL', 'N0CALL-7', field)
      expect(its.acks()).to.deep.equal([`N0CALL-7>APRS,TCPIP*::N1CALL   :ack${number}`])
      expect(await its.messages('N0CALL')).to.deep.equal([
        { from: 'N1CALL', to: 'N0CALL-7', seqId: number, text: 'hello' },
      ])
    })
  }

  it('sends the ack to the call exactly as it was received, where the server delivers it', async () => {
    await its.register('N0CALL', { ackMessages: true })
    await its.receiveLines('W2AW-0>APRS,TCPIP*::N0CALL-7 :hello{1', 'w3aw>APRS,TCPIP*::N0CALL-7 :hello{2')
    expect(its.acks()).to.deep.equal(['N0CALL-7>APRS,TCPIP*::W2AW-0   :ack1', 'N0CALL-7>APRS,TCPIP*::w3aw     :ack2'])
    expect((await its.messages('N0CALL')).map(({ from }) => from)).to.deep.equal(['W2AW', 'W3AW'])
  })

  it('does so on a verified login only: unverified it stores and keeps still', async () => {
    await its.register('N0CALL', { ackMessages: true })
    its.upstream.answerUnverified = true
    its.upstream.dropAll()
    await its.clock.advance(RECONNECT_MS)
    expect(its.upstream.clients().map(({ filter }) => filter)).to.deep.equal(['g/N0CALL-7'])
    its.upstream.inject('N1CALL>APRS,TCPIP*::N0CALL-7 :hello{42')
    while ((await its.messages('N0CALL')).length === 0);
    expect(await its.counter('acks_unsendable')).to.equal(1)

    its.upstream.answerUnverified = false
    its.upstream.dropAll()
    await its.clock.advance(RETRANSMISSION_MS)
    expect(its.upstream.clients().map(({ verified }) => verified)).to.deep.equal([true])
    await its.receive('N1CALL', 'N0CALL-7', 'hello{42')
    expect(its.upstream.received.filter(({ outcome }) => outcome === 'unverified')).to.deep.equal([])
    expect(its.acks()).to.deep.equal(['N0CALL-7>APRS,TCPIP*::N1CALL   :ack42'])
    expect(await its.messages('N0CALL')).to.have.length(1)
  })
})
