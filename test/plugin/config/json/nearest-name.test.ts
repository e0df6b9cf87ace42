import { expect } from 'chai'
import { editDistance, nearestName } from '../../../../plugin/config/json/nearest-name.ts'

describe('nearest known name for a misspelt name', () => {
  it('the edit distance counts missing, extra, wrong and swapped letters', () => {
    for (const [first, second, distance] of [
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
      expect(editDistance(first, second), `${first} ${second}`).to.equal(distance)
    }
  })

  it('finds the nearest known name in any letter case, or none if no name is similar', () => {
    const names = ['token_endpoint', 'revocation_endpoint', 'scope', 'sync']
    for (const [input, expected] of [
      ['tokenendpoint', 'token_endpoint'],
      ['token_endp', 'token_endpoint'],
      ['Revocation_Endpiont', 'revocation_endpoint'],
      ['scoep', 'scope'],
      ['snc', 'sync'],
      ...['sink', 'sy', 'cscopx', '', 'x'.repeat(1_000_000)].map((name) => [name, undefined] as const),
    ])
      expect(nearestName(input ?? '', names)).to.equal(expected)
    expect(nearestName('cscop', ['sync', 'scope'])).to.equal(undefined)
    expect(nearestName('scope-x', ['scope_x', 'scope.x'])).to.equal('scope_x')
  })
})
