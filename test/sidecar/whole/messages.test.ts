import { expect } from 'chai'
import { claim } from '../../support/running-api.ts'
import { COALESCE_MS, RETRANSMISSION_MS, startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

describe('A sidecar that receives messages', () => {
  let its: WholeSidecar
  beforeEach(async () => {
    its = await startWholeSidecar()
  })
  afterEach(() => its.close())

  const shown = (from: string, text: string, seqId = '') => ({ from, to: 'N0CALL-7', seqId, text })

  it('gives the text to the byte, as UTF-8 or with its bytes beside it', async () => {
    await its.register('N0CALL')
    // Every byte but the two that end a line.
    const bytes = Buffer.from(
      Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 10 && byte !== 13),
    )
    const blanks = '  Grüße {an} alle \t '
    await its.receive('N1CALL', 'N0CALL-7', Buffer.concat([bytes, Buffer.from('{7')]))
    await its.receive('N1CALL', 'N0CALL-7', `${blanks}{8`)
    const [latin1, utf8] = await its.messages('N0CALL')
    expect(latin1).to.deep.equal({
      ...shown('N1CALL', bytes.toString('latin1'), '7'),
      textBytes: bytes.toString('base64'),
    })
    expect(utf8).to.deep.equal(shown('N1CALL', blanks, '8'))
  })

  it('reaches a station without SSID by the SSID 0 as well', async () => {
    const station = { callsign: 'N0CALL', ssid: 0, auth: claim('N0CALL').auth }
    await its.upstream.until(() => its.upstream.clients().length > 0)
    await its.post('/v1/register', { ...station, platform: 'android', pushToken: 'a-token', ackMessages: true })
    await its.receiveLines(
      'N1CALL>APRS,TCPIP*::N0CALL   :one{1',
      'N1CALL>APRS,TCPIP*::N0CALL-0 :two{2',
      'N1CALL>APRS2,TCPIP*::N0CALL-0 :one{1',
    )
    const { body } = await its.post('/v1/sync', { ...station, since: 0 })
    expect(body.messages.map(({ to, text }) => [to, text])).to.deep.equal([
      ['N0CALL', 'one'],
      ['N0CALL', 'two'],
    ])
    expect(its.acks()).to.deep.equal(['N0CALL>APRS,TCPIP*::N1CALL   :ack1', 'N0CALL>APRS,TCPIP*::N1CALL   :ack2'])
  })

  it('takes the station inside a third-party frame for the sender, in nested frames the innermost', async () => {
    await its.register('N0CALL', { ackMessages: true })
    await its.receiveLines(
      'GATE>APRS,TCPIP*:}N1CALL-9>APK004,WIDE1-1,GATE*::N0CALL-7 :from the air{1',
      'GATE>APRS,TCPIP*:}DIGI>APRS,GATE*:}N2CALL>APK004,DIGI*::N0CALL-7 :from afar{2',
    )
    expect(await its.messages('N0CALL')).to.deep.equal([
      shown('N1CALL-9', 'from the air', '1'),
      shown('N2CALL', 'from afar', '2'),
    ])
    expect(its.acks()).to.deep.equal(['N0CALL-7>APRS,TCPIP*::N1CALL-9 :ack1', 'N0CALL-7>APRS,TCPIP*::N2CALL   :ack2'])
  })

  it('takes a message for a duplicate only when sender, addressee, number and text are all equal', async () => {
    await its.register('N0CALL')
    await its.register('N2CALL')
    const lines = [
      'N1CALL>APRS,TCPIP*::N0CALL-7 :hello{1',
      'N3CALL>APRS,TCPIP*::N0CALL-7 :hello{1',
      'N1CALL>APRS,TCPIP*::N2CALL-7 :hello{1',
      'N1CALL>APRS,TCPIP*::N0CALL-7 :hello{2',
      'N1CALL>APRS,TCPIP*::N0CALL-7 :hullo{1',
    ]
    await its.receiveLines(...lines)
    await its.clock.advance(RETRANSMISSION_MS)
    await its.receiveLines(...lines)
    expect(await its.counter('messages_duplicate')).to.equal(lines.length)
    expect(await its.messages('N0CALL')).to.deep.equal([
      shown('N1CALL', 'hello', '1'),
      shown('N3CALL', 'hello', '1'),
      shown('N1CALL', 'hello', '2'),
      shown('N1CALL', 'hullo', '1'),
    ])
    expect(await its.messages('N2CALL')).to.have.length(1)
  })

  /** A copy that the network passes: by another destination call it is none to APRS-IS. */
  const passed = (copy: number, field: string) => `N1CALL>APRS${copy},TCPIP*::N0CALL-7 :${field}`

  it('goes by the configured horizons where they are given', async () => {
    await its.close()
    its = await startWholeSidecar({ history: { duplicateMinutes: 10, duplicateSecondsUnnumbered: 300 } })
    await its.register('N0CALL')
    await its.receiveLines()
    const begun = its.clock.now()
    for (const [copy, afterMs] of [0, 299_999, 300_000, 600_000].entries()) {
      its.clock.set(begun + afterMs)
      await its.receiveLines(passed(copy, 'hello{1'), passed(copy, 'beacon'))
    }
    const texts = (await its.messages('N0CALL')).map(({ text }) => text)
    expect(texts).to.deep.equal(['hello', 'beacon', 'beacon', 'hello', 'beacon'])
  })

  it('keeps the newest 50 messages of each station by default', async () => {
    await its.register('N0CALL')
    await its.register('N2CALL')
    const lines = Array.from({ length: 60 }, (_, n) => `N1CALL>APRS,TCPIP*::N0CALL-7 :message ${n}`)
    await its.receiveLines('N1CALL>APRS,TCPIP*::N2CALL-7 :untouched', ...lines)
    const texts = (await its.messages('N0CALL')).map(({ text }) => text)
    expect(texts).to.deep.equal(Array.from({ length: 50 }, (_, n) => `message ${n + 10}`))
    expect(await its.messages('N2CALL')).to.have.length(1)
  })

  it('pushes nothing to a station whose gateway is off, and lets it sync', async () => {
    await its.close()
    its = await startWholeSidecar({ push: { coalesceMs: COALESCE_MS } })
    await its.register('N0CALL')
    await its.receive('N1CALL', 'N0CALL-7', 'hello')
    await its.endWindow()
    expect(await its.messages('N0CALL')).to.deep.equal([shown('N1CALL', 'hello')])
    expect([its.fcm.attempts, its.apns.attempts, await its.counter('pushes_given_up')]).to.deep.equal([0, 0, 0])
  })
})
