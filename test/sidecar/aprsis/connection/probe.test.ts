import { expect } from 'chai'
import { passcodeOf } from '../../../../fixtures/aprsis/passcode.ts'
import { type AprsIsServer, startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import { probeUpstream } from '../../../../sidecar/aprsis/connection/probe.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { settingsOf } from '../../../support/read-settings.ts'

describe('A login of the live check at APRS-IS', () => {
  let server: AprsIsServer
  beforeEach(async () => {
    server = await startAprsIs()
  })
  afterEach(() => server.close())

  const callOf = async (callsign: string) => {
    const { host, port } = server
    const { aprsis } = settingsOf({ aprsis: { host, port, callsign, passcode: passcodeOf(callsign) } })
    const outcome = await probeUpstream(aprsis, new FakeClock())
    expect(outcome.login).to.deep.equal({ server: 'T2FIX', verified: true })
    expect(outcome.filter).to.equal('confirmed')
    return outcome.callsign
  }

  it('the live check logs in to APRS-IS with the last of the login callsigns', async () => {
    expect(await callOf('N0CALL-10')).to.equal('N0CALL-16')
    expect(await callOf('N0CALL')).to.equal('N0CALL-16')
    expect(await callOf('N0CALL-16')).to.equal('N0CALL-17')
  })

  it('the live check logs in with the configured callsign if no login callsign exists', async () => {
    expect(await callOf('AB1CDEF-1')).to.equal('AB1CDEF-1')
  })
})
