import { expect } from 'chai'
import { passcodeMatches, passcodeOf } from '../../../sidecar/aprs/passcode.ts'

// Published with other APRS software, of even and odd length.
const KNOWN = { N0CALL: 13023, TESTCALL: 31742, SUCHCALL: 27890, MUCHSIGN: 27128, WOW: 29613, W5ISP: 15748 }

describe('The passcode of a callsign', () => {
  for (const [callsign, passcode] of Object.entries(KNOWN)) {
    // Shows: sidecar 8.1, 18.2, 18.3, F1.17.
    it(`the passcode of ${callsign} is ${passcode}`, () => {
      expect(passcodeOf(callsign)).to.equal(passcode)
    })
  }

  // Shows: sidecar 8.1, F1.17.
  it('the passcode of a callsign is the same for every SSID and letter case', () => {
    expect(passcodeOf('N0CALL-7')).to.equal(13023)
    expect(passcodeOf('n0call-D')).to.equal(13023)
  })

  // Shows: sidecar 8.3.
  it('refuses any number but the passcode of the callsign', () => {
    expect(passcodeMatches('N0CALL-7', 13023)).to.equal(true)
    expect(passcodeMatches('N0CALL-7', 13022)).to.equal(false)
    expect(passcodeMatches('N0CALL-7', -1)).to.equal(false)
    expect(passcodeMatches('N0CALL-7', 13023 + 0x8000)).to.equal(false)
  })
})
