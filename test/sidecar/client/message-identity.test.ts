import { expect } from 'chai'
import fc from 'fast-check'
import { contentEnd, messageNumber } from '../../../sidecar/aprs/sequence-id.ts'
import { canonicalKey } from '../../../sidecar/aprs/station.ts'
import { messageIdentity } from '../../../sidecar/client/index.ts'

describe('The identity of a message', () => {
  const message = { from: 'N1CALL-7', to: 'N0CALL', seqId: '12', text: 'Hello' }

  it('messages that differ in sender, addressee, sequence id or text are different', () => {
    for (const change of [{ from: 'N1CALL' }, { to: 'N0CALL-1' }, { seqId: '' }, { text: 'hello' }])
      expect(messageIdentity({ ...message, ...change })).to.not.equal(messageIdentity(message))
  })

  it('messages that differ only in reply-ack, SSID 0, letter case or padding are equal', () => {
    const copy = { from: 'n1call-7', to: 'N0CALL-0', seqId: '12}AA', text: 'Hello \u0000' }
    expect(messageIdentity(copy)).to.equal(messageIdentity(message))
  })

  it('the client compares messages like the server, for any two messages', () => {
    const seqId = fc.string({ unit: fc.constantFrom('1', '2', '}'), maxLength: 4 })
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '\t', '\u0000', '\u007f', 'ä'), maxLength: 5 })
    const any = fc.record({
      from: fc.constantFrom('N1CALL', 'N1CALL-0', 'N1CALL-1'),
      to: fc.constant('N0CALL'),
      seqId,
      text,
    })
    const ofServer = ({ from, seqId: number, text: bytes }: typeof message) =>
      JSON.stringify([canonicalKey(from), messageNumber(number), bytes.slice(0, contentEnd(bytes))])
    fc.assert(
      fc.property(any, any, (first, second) => {
        expect(messageIdentity(first) === messageIdentity(second)).to.equal(ofServer(first) === ofServer(second))
      }),
      { numRuns: 2000 },
    )
  })
})
