import { expect } from 'chai'
import fc from 'fast-check'
import { baseCallsign, hasRoomForSsid, parseStationKey, stationKey } from '../../../sidecar/aprs/station.ts'

describe('The key of a station', () => {
  // Shows: sidecar 3.1, 3.2, C5.1, C5.2, C5.4.
  it("a station's key is callsign, dash and SSID in upper case", () => {
    expect(stationKey('n0call', 7)).to.deep.equal({ kind: 'key', key: 'N0CALL-7' })
    expect(stationKey('N0CALL', '7')).to.deep.equal({ kind: 'key', key: 'N0CALL-7' })
    expect(stationKey('N0CALL', 99)).to.deep.equal({ kind: 'key', key: 'N0CALL-99' })
    expect(stationKey('N0CALL', 'D')).to.deep.equal({ kind: 'key', key: 'N0CALL-D' })
    expect(stationKey('DL1ABC', 'x9')).to.deep.equal({ kind: 'key', key: 'DL1ABC-X9' })
  })

  for (const none of [0, '', '0', null]) {
    // Shows: sidecar 11.2, C5.3.
    it(`a station's key is the callsign alone for the SSID ${JSON.stringify(none)}`, () => {
      expect(stationKey('N0CALL', none)).to.deep.equal({ kind: 'key', key: 'N0CALL' })
    })
  }

  for (const ssid of [-1, 100, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '123', '-1', 'Ä', ' ', '1 ', '*', '7\n']) {
    it(`a station's key is refused for the SSID ${JSON.stringify(ssid)} (${ssid})`, () => {
      const outcome = stationKey('N0C', ssid)
      expect(outcome).to.include({ kind: 'invalid', member: 'ssid' })
      expect(outcome)
        .to.have.property('reason')
        .that.matches(/^An SSID is /)
    })
  }

  for (const callsign of ['', 'N0CALL-7', 'N0 CALL', 'N0/CALL', 'N0*', 'ÄÖÜ', 'N0CALL\n', 'ABCDEFGHIJ']) {
    it(`a station's key is refused for the callsign ${JSON.stringify(callsign)}`, () => {
      expect(stationKey(callsign, 0)).to.include({ kind: 'invalid', member: 'callsign' })
    })
  }

  // Shows: sidecar C5.4.
  it("a station's key has at most 9 characters", () => {
    expect(stationKey('ABCDEFGHI', 0)).to.deep.equal({ kind: 'key', key: 'ABCDEFGHI' })
    expect(stationKey('ABCDEF', 12)).to.deep.equal({ kind: 'key', key: 'ABCDEF-12' })
    expect(stationKey('ABCDEFG', 12)).to.include({ kind: 'invalid', member: 'ssid' })
    expect(stationKey('ABCDEFGHI', 1)).to.include({ kind: 'invalid', member: 'ssid' })
  })

  it('a callsign of up to 7 characters has room for an SSID', () => {
    expect(hasRoomForSsid('ABCDEFG')).to.equal(true)
    expect(hasRoomForSsid('ABCDEFGH')).to.equal(false)
  })

  it('parsing a station key in any letter case returns the key in upper case', () => {
    const letters = [...'ABCXYZabcxyz0189']
    const callsigns = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 9 })
    const ssids = fc.oneof(
      fc.integer({ min: 0, max: 99 }),
      fc.string({ unit: fc.constantFrom(...letters), maxLength: 2 }),
      fc.constant(null),
    )
    fc.assert(
      fc.property(callsigns, ssids, (callsign, ssid) => {
        const outcome = stationKey(callsign, ssid)
        fc.pre(outcome.kind === 'key')
        expect(parseStationKey(outcome.key)).to.equal(outcome.key)
        expect(parseStationKey(outcome.key.toLowerCase())).to.equal(outcome.key)
        expect(baseCallsign(outcome.key)).to.equal(callsign.toUpperCase())
      }),
    )
  })
})

describe('A station name in a packet', () => {
  it('a station name with SSID 0 equals the name without SSID', () => {
    expect(parseStationKey('N0CALL-0')).to.equal('N0CALL')
    expect(parseStationKey('N0CALL-10')).to.equal('N0CALL-10')
  })

  for (const name of ['', '-7', 'ABCDEFGHIJ', 'N0 CALL', 'N0CALL*', 'N0CALL\n', 'DÄ1ABC']) {
    it(`${JSON.stringify(name)} is not a valid station name`, () => {
      expect(parseStationKey(name)).to.equal(undefined)
    })
  }
})
