import { expect } from 'chai'
import { registration } from '../../support/running-api.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

describe('A sidecar that keeps calls out', () => {
  let its: WholeSidecar
  afterEach(() => its.close())

  const registering = (callsign: string, ssid: number | string | null) =>
    its.post('/v1/register', { ...registration(callsign), ssid })

  it('lets nobody register its own login, the further calls of it, nor services and bulletins', async () => {
    its = await startWholeSidecar()
    for (const [callsign, ssid] of [
      ['N0CALL', 10],
      ['n0call', '16'],
      ['N0CALL', 99],
      ['SMSGTE', null],
      ['WXBOT', 0],
      ['WHO', 'is'],
      ['EMAIL', 2],
      ['WLNK', 1],
      ['BLNQ', ''],
      ['NWS', 'X'],
      ['CQ', null],
    ] as const) {
      const { status, body } = await registering(callsign, ssid)
      expect([status, body.error], `${callsign}-${ssid}`).to.deep.equal([403, 'reserved'])
    }
    const { status, body } = await its.post('/v1/register', { ...registration('SMSGTE'), ssid: null, auth: 1 })
    expect([status, body.error]).to.deep.equal([403, 'wrong_passcode'])
    expect(await its.counter('stations_registered')).to.equal(0)
  })

  it("lets the operator's own phone register with another SSID of up to 15, and any other station with any", async () => {
    its = await startWholeSidecar()
    for (const ssid of [null, 1, 9, 11, 15, 'AB']) expect((await registering('N0CALL', ssid)).status).to.equal(200)
    for (const ssid of [10, 16, 99]) expect((await registering('N1CALL', ssid)).status).to.equal(200)
  })

  it('has a call for further connections whoever tries to register them all', async () => {
    its = await startWholeSidecar({ aprsis: { maxConnections: 3 } })
    for (let ssid = 16; ssid < 100; ssid++) expect((await registering('N0CALL', ssid)).status).to.equal(403)
    const callsigns = Array.from({ length: 60 }, (_, index) => `W${index % 10}AB${'ABCDEF'[Math.floor(index / 10)]}`)
    for (const callsign of callsigns) await registering(callsign, 10)
    await its.clock.advance(2000)
    await its.upstream.until(() => its.upstream.clients().some(({ call }) => call === 'N0CALL-99'))
  })

  it('neither stores nor acknowledges nor pushes messages of blocked senders, and counts them', async () => {
    its = await startWholeSidecar({ stations: { blockedSenders: ['N2CALL', 'PEST*'] } })
    await its.register('N0CALL', { ackMessages: true })
    await its.receiveLines(
      'N2CALL>APRS,TCPIP*::N0CALL-7 :one{1',
      'n2call-0>APRS,TCPIP*::N0CALL-7 :two{2',
      'PEST-9>APRS,TCPIP*::N0CALL-7 :three{3',
      'GATE>APRS,TCPIP*:}PESTS>APRS,GATE*::N0CALL-7 :four{4',
      'N2CALL-1>APRS,TCPIP*::N0CALL-7 :five{5',
    )
    expect((await its.messages('N0CALL')).map(({ from, text }) => [from, text])).to.deep.equal([['N2CALL-1', 'five']])
    expect(its.acks()).to.deep.equal(['N0CALL-7>APRS,TCPIP*::N2CALL-1 :ack5'])
    expect(await its.counter('messages_blocked')).to.equal(4)
    await its.endWindow()
    expect((await its.fcm.waitFor(() => true)).data).to.include({ count: '1', seqId: '5' })
  })
})
