import { expect } from 'chai'
import { nearest } from '../../../../sidecar/config/reading/nearest.ts'

const isKnown = ['callsign', 'passcode', 'port', 'host']

describe('nearest known name', () => {
  it('is the one that a slip of the fingers makes', () => {
    expect(nearest('callsing', isKnown)).to.equal('callsign')
    expect(nearest('Passcode', isKnown)).to.equal('passcode')
    expect(nearest('prt', isKnown)).to.equal('port')
  })

  it('is none where nothing is near', () => {
    expect(nearest('database', isKnown)).to.equal(undefined)
    expect(nearest('x', [])).to.equal(undefined)
  })

  it('is found in no time for a name of any length', () => {
    expect(nearest('a'.repeat(1_000_000), isKnown)).to.equal(undefined)
  })
})
