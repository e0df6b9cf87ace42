import { expect } from 'chai'
import {
  freeLoginCallsign,
  loginCallsignCount,
  loginCallsigns,
} from '../../../../sidecar/aprsis/listeners/login-callsigns.ts'

/** Returns all login callsigns that connections take, one after the other. */
function callsInTurn(configured: string): ReadonlySet<string> {
  const takenName = new Set<string>()
  for (let call = freeLoginCallsign(configured, takenName, new Set()); call; ) {
    takenName.add(call)
    call = freeLoginCallsign(configured, takenName, new Set())
  }
  return takenName
}

describe('The login callsign of an additional connection', () => {
  it('a connection logs in with the configured callsign if that is free', () => {
    expect(freeLoginCallsign('N0CALL-10', new Set(), new Set())).to.equal('N0CALL-10')
  })

  // Shows: sidecar C1.8.
  it('picks a login callsign that no radio, connection or registered station uses', () => {
    const inUse = new Set(['N0CALL', 'N0CALL-99'])
    expect(freeLoginCallsign('N0CALL', inUse, new Set(['N0CALL-98']))).to.equal('N0CALL-97')
    expect(freeLoginCallsign('N0CALL-10', new Set(['N0CALL-10']), new Set())).to.equal('N0CALL-99')
  })

  it('finds no login callsign if all are taken, or if the callsign is too long', () => {
    const all = new Set(Array.from({ length: 100 }, (_, ssid) => `N0CALL-${ssid}`))
    expect(freeLoginCallsign('N0CALL-10', all, new Set())).to.equal(undefined)
    expect(freeLoginCallsign('N0CALLS', new Set(['N0CALLS']), new Set())).to.equal(undefined)
  })

  // Shows: sidecar C13.1.
  it('every login callsign is reserved, so that no station can register it', () => {
    for (const configured of ['N0CALL', 'N0CALL-10', 'N0CALL-99', 'A1A'])
      expect(new Set(loginCallsigns(configured))).to.deep.equal(callsInTurn(configured))
    expect(loginCallsigns('N0CALL-10')).to.include.members(['N0CALL-10', 'N0CALL-16', 'N0CALL-99'])
    expect(loginCallsigns('N0CALL-10')).to.not.include.members(['N0CALL', 'N0CALL-9', 'N0CALL-15'])
  })

  it('each callsign yields at least loginCallsignCount different login callsigns', () => {
    for (const configured of ['N0CALL', 'N0CALL-10', 'A1A', 'N0CALLS', 'N0CALLS-1', 'N0CALL-99']) {
      const calls = callsInTurn(configured)
      for (const call of calls) expect(call.length).to.be.at.most(9)
      expect(calls.size, configured).to.be.at.least(loginCallsignCount(configured))
    }
  })
})
