import { expect } from 'chai'
import fc from 'fast-check'
import { parseJson } from '../../../../sidecar/config/reading/json.ts'

describe('The JSON parser of the configuration', () => {
  it('the JSON parser returns the same values as JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 4 }), (text, indent) => {
        const pretty = JSON.stringify(JSON.parse(text), null, indent)
        expect(parseJson(pretty)).to.deep.equal({ kind: 'value', value: JSON.parse(text), duplicates: [] })
      }),
    )
  })

  it('the JSON parser accepts exactly the texts that JSON.parse accepts', () => {
    const letter = fc.constantFrom(...'{}[],:"\\/ \n\t\u0001\u007fu00e9-+.eE01truefalsn\'')
    fc.assert(
      fc.property(fc.string({ unit: letter, maxLength: 12 }), (text) => {
        let valid = true
        try {
          JSON.parse(text)
        } catch {
          valid = false
        }
        expect(parseJson(text).kind).to.equal(valid ? 'value' : 'syntax_error')
      }),
      { numRuns: 5000 },
    )
  })

  for (const [text, line, column, reason] of [
    ['{\n  "a": 1,\n}', 2, 9, 'there is a comma too many'],
    ['{\n  "a": 1\n  "b": 2\n}', 2, 9, 'a comma is missing'],
    ['{\n  "a": {}\n  "b": 2\n}', 2, 10, 'a comma is missing'],
    ['[1, 2 3]', 1, 6, 'a comma is missing'],
    ['[1, 2,]', 1, 6, 'there is a comma too many'],
    ['{"a": 1,, "b": 2}', 1, 8, 'there is a comma too many'],
    ['{,}', 1, 2, 'there is a comma too many'],
    ['{"a" 1}', 1, 5, 'a colon is missing after a name'],
    ['{a: 1}', 1, 2, 'a name needs double quotes'],
    ['{ "a": 1 // port\n}', 1, 10, 'JSON has no comments'],
    ['{"a": 1', 1, 8, 'the text ends too early'],
    ["{'a': 1}", 1, 2, 'JSON needs double quotes, not single ones'],
    ['{}\n{}', 2, 1, 'unexpected "{" after the end'],
    ['', 1, 1, 'the text ends too early'],
  ] as const) {
    it(`names line and column of the JSON mistake in ${JSON.stringify(text)}`, () => {
      expect(parseJson(text)).to.deep.equal({ kind: 'syntax_error', line, column, reason })
    })
  }

  it('reports JSON members that occur twice, at any depth', () => {
    expect(parseJson('{"a":{"b":1,"b":2},"c":[{"d":1,"d":2}]}')).to.deep.include({
      duplicates: [
        ['a', 'b'],
        ['c', '0', 'd'],
      ],
    })
  })

  it('refuses JSON with nesting that would exhaust the stack', () => {
    expect(parseJson('['.repeat(100_000)).kind).to.equal('syntax_error')
  })

  it('parses a JSON member named __proto__ as an ordinary member', () => {
    const parsed = parseJson('{"__proto__":{"admin":true}}')
    expect(parsed.kind === 'value' && Object.keys(parsed.value as object)).to.deep.equal(['__proto__'])
  })
})
