import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import {
  acceptsFilter,
  confirmationLine,
  filterBytes,
  filterLine,
  filterText,
  IN_PLACE_BYTES,
  MAX_FILTER_LINE_BYTES,
} from '../../../../sidecar/aprsis/protocol/filter.ts'
import {
  LOGIN_FILTER_BYTES,
  loginLine,
  MAX_LOGIN_LINE_BYTES,
  parseLoginAnswer,
} from '../../../../sidecar/aprsis/protocol/login.ts'
import { stationKeys } from '../link-harness.ts'

const narrow = { trackOutgoing: false }
const tracking = { trackOutgoing: true }

describe('The APRS-IS filter', () => {
  // Shows: sidecar 15.1.
  it('the APRS-IS filter lists the stations in alphabetical order', () => {
    expect(filterText(new Set(['OE1ABC-7', 'AA1AA-1']), 'N0CALL', narrow)).to.equal('g/AA1AA-1/OE1ABC-7')
  })

  // Shows: sidecar 15.4, C1.10.
  it('with tracking, the APRS-IS filter also requests packets sent by the stations', () => {
    expect(filterText(new Set(['AA1AA-1', 'BB1BB-1']), 'N0CALL', tracking)).to.equal(
      'g/AA1AA-1/BB1BB-1 b/AA1AA-1/BB1BB-1',
    )
  })

  // Shows: sidecar C4.30.
  it('the APRS-IS filter adds CALL-0 for each station CALL of up to 7 characters', () => {
    const stations = new Set(['BB1BB', 'AA1AA-0A', 'CC1CCCC', 'DD1DDDDD'])
    expect(filterText(stations, 'N0CALL', narrow)).to.equal('g/AA1AA-0A/BB1BB/BB1BB-0/CC1CCCC/CC1CCCC-0/DD1DDDDD')
    expect(filterText(new Set(['BB1BB']), 'N0CALL', tracking)).to.equal('g/BB1BB/BB1BB-0 b/BB1BB/BB1BB-0')
  })

  // Shows: sidecar C17.8.
  it('the filter requests messages to any SSID of CALL*, but no packets sent by CALL*', () => {
    const stations = new Set(['AA1AA*', 'BB1BB-1', 'AA1AA-1'])
    expect(filterText(stations, 'N0CALL', narrow)).to.equal('g/AA1AA*/AA1AA-1/BB1BB-1')
    expect(filterText(stations, 'N0CALL', tracking)).to.equal('g/AA1AA*/AA1AA-1/BB1BB-1 b/AA1AA-1/BB1BB-1')
    expect(filterText(new Set(['AA1AA*']), 'N0CALL', tracking)).to.equal('g/AA1AA*')
    for (const form of [narrow, tracking])
      expect(filterBytes(stations, form)).to.equal(filterText(stations, 'N0CALL', form).length)
  })

  it("without stations, the APRS-IS filter names only the login's own callsign", () => {
    expect(filterText(new Set(), 'N0CALL-99', tracking)).to.equal('g/N0CALL-99')
  })

  it('filterBytes equals the length of the filter text', () => {
    for (const form of [narrow, tracking]) {
      const stations = new Set(['AA1AA', 'OE1ABC-7', 'X', 'CC1CCCC', 'DD1DDDDD', 'EE1EEEEEE'])
      expect(filterBytes(stations, form)).to.equal(filterText(stations, 'N0CALL', form).length)
    }
  })

  // Shows: sidecar C7.2, F1.1.
  it('a #filter line has room for 55 stations of eight characters, but not 56', () => {
    const line = (count: number) => filterLine(filterText(new Set(stationKeys(count)), 'N0CALL', narrow))
    expect(line(55)).to.have.length(504)
    expect(filterBytes(stationKeys(55), narrow)).to.be.at.most(IN_PLACE_BYTES)
    expect(filterBytes(stationKeys(56), narrow)).to.be.above(IN_PLACE_BYTES)
    expect(filterLine('x'.repeat(IN_PLACE_BYTES))).to.have.length(MAX_FILTER_LINE_BYTES)
  })

  // Shows: sidecar F1.2.
  it("a server's filter confirmation repeats the first 255 bytes of the filter", () => {
    expect(confirmationLine('g/AA1AA')).to.equal('# filter g/AA1AA active')
    expect(confirmationLine('x'.repeat(300))).to.equal(`# filter ${'x'.repeat(255)} active`)
  })

  for (const line of [
    '# filter g/AA1AA active',
    '# OK - Filter definition updated',
    '# filter g/NO/BAD-1 active',
    '# filter g/AA1AA/NO active',
    '# filter g/AA-NO active',
    '# filter noted',
  ])
    it(`the server's comment "${line}" accepts a filter`, () => {
      expect(acceptsFilter(line)).to.equal(true)
    })

  for (const line of [
    '# filter not accepted',
    '# Invalid filter',
    '# filter: no',
    '# filter cannot be parsed',
    '# unknown filter type',
    'Error: filter g/AA1AA',
    '# aprsc 2.1.21',
  ])
    it(`the server's comment "${line}" does not accept a filter`, () => {
      expect(acceptsFilter(line)).to.equal(false)
    })
})

describe('The login line', () => {
  it('the login line contains callsign, passcode, package version and filter', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))
    expect(loginLine('N0CALL', 13023, 'g/AA1AA')).to.equal(
      `user N0CALL pass 13023 vers mesh-companion ${version} filter g/AA1AA`,
    )
  })

  // Shows: sidecar F1.3.
  it('no callsign or filter makes the login line longer than 7,998 bytes', () => {
    expect(loginLine('N0CALL-99', 32767, 'x'.repeat(LOGIN_FILTER_BYTES))).to.have.length(MAX_LOGIN_LINE_BYTES)
    expect(MAX_LOGIN_LINE_BYTES).to.equal(7998)
  })

  it("reads the server's name and whether the login is verified from the login answer", () => {
    const parse = parseLoginAnswer
    expect(parse('# logresp N0CALL verified, server T2FIX')).to.deep.equal({ verified: true, server: 'T2FIX' })
    expect(parse('# logresp N0CALL unverified, server T2-A')).to.deep.equal({ verified: false, server: 'T2-A' })
    expect(parse('# logresp N0CALL verified, server X, adjunct "filter g/A" OK')).to.deep.equal({
      verified: true,
      server: 'X',
    })
    expect(parse('# logresp N0CALL verified')).to.deep.equal({ verified: true, server: 'unknown' })
    expect(parse('# aprsc 2.1.21 verified, server X')).to.equal(undefined)
  })
})
