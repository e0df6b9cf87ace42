import { expect } from 'chai'
import { readIntrospectMinutes } from '../../../plugin/meshcentral/own-settings.ts'

describe('introspectMinutes', () => {
  it('is five minutes where nothing is given', () => {
    for (const nothing of [undefined, null]) expect(readIntrospectMinutes(nothing)).to.deep.equal({ minutes: 5 })
  })

  it('is off with 0, and else from a hundredth of a minute to a day', () => {
    for (const minutes of [0, 0.01, 1, 5, 1_440]) expect(readIntrospectMinutes(minutes)).to.deep.equal({ minutes })
  })

  for (const wrong of ['5', '', true, false, -1, 0.001, 1_441, Number.NaN, Number.POSITIVE_INFINITY, [5], {}]) {
    it(`stays five minutes with ${JSON.stringify(wrong)}, and says what it has to be`, () => {
      const { minutes, problem } = readIntrospectMinutes(wrong)
      expect(minutes).to.equal(5)
      expect(problem).to.match(/introspectMinutes has to be 0 \(off\) or a number of minutes from 0\.01 to 1440/)
    })
  }
})
