import { expect } from 'chai'
import { nearest } from '../../../../sidecar/config/reading/nearest.ts'

const isKnown = ['callsign', 'passcode', 'port', 'host']

describe('The suggestion of a known name', () => {
  it('suggests the known name that differs only by a typing mistake', () => {
    expect(nearest('callsing', isKnown)).to.equal('callsign')
    expect(nearest('Passcode', isKnown)).to.equal('passcode')
    expect(nearest('prt', isKnown)).to.equal('port')
  })

  it('suggests no name if no known name is similar', () => {
    expect(nearest('database', isKnown)).to.equal(undefined)
    expect(nearest('x', [])).to.equal(undefined)
  })

  it('suggesting a name stays fast for a given name of 1,000,000 characters', () => {
    expect(nearest('a'.repeat(1_000_000), isKnown)).to.equal(undefined)
  })
})
