import { expect } from 'chai'
import fc from 'fast-check'
import { braceOfSequenceId, contentEnd, messageNumber } from '../../../sidecar/aprs/sequence-id.ts'

describe('A sequence id', () => {
  const SEQUENCE_ID = /^[0-9A-Za-z]{1,5}(?:\}[0-9A-Za-z]{0,5})?$/
  const tails = fc.oneof(
    fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 13 }),
    fc.string({ unit: fc.constantFrom('1', 'z', 'A', '7', '0', '~', '{', '}', ' ', '\x80'), maxLength: 13 }),
    fc.string({ unit: fc.constantFrom('1', 'z', 'A', '7', '}'), maxLength: 13 }),
  )

  // Shows: sidecar C4.24.
  it('a sequence id is 1 to 5 letters or digits; a reply-ack adds } and up to 5 more', () => {
    fc.assert(
      fc.property(tails, (tail) => {
        const text = `text{${tail}`
        const behindLast = tail.slice(tail.lastIndexOf('{') + 1)
        const brace = text.length - behindLast.length - 1
        expect(braceOfSequenceId(text, 0, text.length)).to.equal(SEQUENCE_ID.test(behindLast) ? brace : -1)
      }),
      { numRuns: 3000 },
    )
  })

  it('does not look for a sequence id before the start of the text field', () => {
    expect(braceOfSequenceId(':B{1:x', 5, 6)).to.equal(-1)
    expect(braceOfSequenceId('{1', 1, 2)).to.equal(-1)
  })

  for (const [seqId, number] of [
    ['12345', '12345'],
    ['AB}', 'AB'],
    ['AB}CD', 'AB'],
    ['}', '}'],
    ['}AB', '}AB'],
    ['', ''],
  ] as const) {
    it(`the message number of ${JSON.stringify(seqId)} is ${JSON.stringify(number)}`, () => {
      expect(messageNumber(seqId)).to.equal(number)
    })
  }
})

describe('The content of an APRS text field', () => {
  for (const [line, content] of [
    ['hi', 'hi'],
    ['hi  ', 'hi'],
    ['hi\0', 'hi'],
    ['hi \x1c\x7f\t ', 'hi'],
    [' \0hi', ' \0hi'],
    ['hi\xa0', 'hi\xa0'],
    [' \0 ', ''],
  ] as const) {
    it(`the content of ${JSON.stringify(line)} is ${JSON.stringify(content)}`, () => {
      expect(line.slice(0, contentEnd(line))).to.equal(content)
    })
  }

  it('a text field of only spaces has no content', () => {
    expect(contentEnd('   ', 1)).to.equal(1)
  })
})
