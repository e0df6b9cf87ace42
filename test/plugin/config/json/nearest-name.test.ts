import { expect } from 'chai'
import fc from 'fast-check'
import { editDistance, nearestName } from '../../../../plugin/config/json/nearest-name.ts'

describe('nearest name', () => {
  it('counts letters that are missing, too many, wrong or swapped', () => {
    for (const [one, other, distance] of [
      ['', '', 0],
      ['', 'abc', 3],
      ['scope', 'scope', 0],
      ['scpe', 'scope', 1],
      ['sccope', 'scope', 1],
      ['scape', 'scope', 1],
      ['socpe', 'scope', 1],
      ['ca', 'abc', 3],
      ['kitten', 'sitting', 3],
    ] as const) {
      expect(editDistance(one, other), `${one} ${other}`).to.equal(distance)
    }
  })

  it('is the same both ways, and never more than the longer word', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })
    fc.assert(
      fc.property(word, word, (one, other) => {
        const distance = editDistance(one, other)
        expect(distance).to.equal(editDistance(other, one))
        expect(distance).to.be.within(Math.abs(one.length - other.length), Math.max(one.length, other.length))
        expect(distance === 0).to.equal(one === other)
      }),
    )
  })

  it('is the closest of the known ones, letter case aside, if it is close', () => {
    const known = ['token_endpoint', 'revocation_endpoint', 'scope', 'sync']
    expect(nearestName('tokenendpoint', known)).to.equal('token_endpoint')
    expect(nearestName('Revocation_Endpiont', known)).to.equal('revocation_endpoint')
    expect(nearestName('scoep', known)).to.equal('scope')
    expect(nearestName('sink', known)).to.equal(undefined)
    expect(['sy', 'snc', 'cscop', 'cscopx'].map((name) => nearestName(name, ['sync', 'scope']))).to.deep.equal([
      undefined,
      'sync',
      undefined,
      undefined,
    ])
    expect(nearestName('scope-x', ['scope_x', 'scope.x'])).to.equal('scope_x')
    expect(nearestName('token_endp', known)).to.equal('token_endpoint')
    expect(nearestName('', known)).to.equal(undefined)
    expect(nearestName('x'.repeat(1_000_000), known)).to.equal(undefined)
  })
})
