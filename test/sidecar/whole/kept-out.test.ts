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
})
