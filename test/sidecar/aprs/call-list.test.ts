import { expect } from 'chai'
import fc from 'fast-check'
import { callList } from '../../../sidecar/aprs/call-list.ts'

describe('A list of calls', () => {
  it('has the calls that are on it, in any letter case, with no SSID as with 0', () => {
    const has = callList(['W1AW', 'n0call-7', 'K1ABC-0'])
    for (const call of ['W1AW', 'w1aw', 'W1AW-0', 'N0CALL-7', 'K1ABC']) expect(has(call), call).to.equal(true)
    for (const call of ['W1AW-1', 'W1AWX', 'N0CALL', 'N0CALL-70', 'K1ABC-1']) expect(has(call), call).to.equal(false)
  })

  it('has whatever begins like an entry with a final *', () => {
    const has = callList(['BLN*', 'W1AW-*'])
    for (const call of ['BLN', 'BLN1', 'blnQ', 'BLN1WX', 'W1AW-5']) expect(has(call), call).to.equal(true)
    for (const call of ['BL', 'ABLN', 'W1AW', 'W1AWX']) expect(has(call), call).to.equal(false)
  })

  it('has nothing when it is empty', () => {
    expect(callList([])('W1AW')).to.equal(false)
  })

  it('has what one of its entries alone has', () => {
    const call = fc.stringMatching(/^[AB][AB1-]{0,4}$/)
    const entry = fc.tuple(call, fc.constantFrom('', '*')).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(entry), call, (entries, asked) => {
        expect(callList(entries)(asked)).to.equal(entries.some((one) => callList([one])(asked)))
      }),
    )
  })
})
