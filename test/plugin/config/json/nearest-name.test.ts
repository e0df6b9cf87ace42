import { expect } from 'chai'
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

  it('is the closest of the known ones, letter case aside, if it is close', () => {
    const known = ['token_endpoint', 'revocation_endpoint', 'scope', 'sync']
    for (const [given, meant] of [
      ['tokenendpoint', 'token_endpoint'],
      ['token_endp', 'token_endpoint'],
      ['Revocation_Endpiont', 'revocation_endpoint'],
      ['scoep', 'scope'],
      ['snc', 'sync'],
      ...['sink', 'sy', 'cscopx', '', 'x'.repeat(1_000_000)].map((other) => [other, undefined] as const),
    ])
      expect(nearestName(given ?? '', known)).to.equal(meant)
    expect(nearestName('cscop', ['sync', 'scope'])).to.equal(undefined)
    expect(nearestName('scope-x', ['scope_x', 'scope.x'])).to.equal('scope_x')
  })
})
