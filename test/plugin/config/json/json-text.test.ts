import { expect } from 'chai'
import fc from 'fast-check'
import { type JsonNode, JsonSyntaxError, locateJson } from '../../../../plugin/config/json/json-text.ts'

const faultOf = (text: string): JsonSyntaxError => {
  try {
    locateJson(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error
    throw error
  }
  throw new Error('is JSON')
}

const isJson = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('JSON text with positions', () => {
  it('the start and end located for a JSON value enclose the text of that value', () => {
    const visit = (text: string, node: JsonNode, value: unknown): void => {
      expect(JSON.parse(text.slice(node.start, node.end))).to.deep.equal(value)
      for (const [name, inner] of node.members) {
        visit(text, inner, (value as Record<string, unknown>)[name])
      }
    }
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (json, space) => {
        const text = ` ${JSON.stringify(JSON.parse(json), null, space)}\r\n`
        visit(text, locateJson(text), JSON.parse(text))
      }),
    )
  })

  it('locateJson accepts exactly the texts that JSON.parse accepts', () => {
    const single = [...'{}[],:"\\-0 \n\u0001\u007f\u2028\ufeff']
    const piece = fc.constantFrom(...single, '"a"', '\\u00e9', '1', '.5', 'e3', 'true', 'nul', '\ud800', '😀')
    const changed = fc
      .tuple(fc.json(), fc.nat(), fc.oneof(piece, fc.constant('')))
      .map(([json, position, inserted]) => {
        const place = position % (json.length + 1)
        return json.slice(0, place) + inserted + json.slice(place + 1)
      })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece).map((pieces) => pieces.join('')),
          changed,
        ),
        (text) => {
          let isAccepted = true
          try {
            locateJson(text)
          } catch (error) {
            expect(error).to.be.instanceOf(JsonSyntaxError)
            isAccepted = false
          }
          expect(isAccepted, JSON.stringify(text)).to.equal(isJson(text))
        },
      ),
      { numRuns: 3000 },
    )
  })

  it('reports line, column and reason of a JSON syntax error', () => {
    for (const [text, line, column, reason] of [
      ['', 1, 1, 'expected a value, found the end of the text'],
      ['{\n  "a": 1,\n}', 3, 1, 'expected a name in double quotes, found "}"'],
      ['{ "a": 1\r\n  "b": 2 }', 2, 3, 'expected "," or "}", found a string'],
      ['{ "a": 1 // one\n}', 1, 10, 'expected "," or "}", found a comment'],
      ["{ 'a': 1 }", 1, 3, 'expected a name in double quotes, found a single quote'],
      ['{ "a": "b\n" }', 1, 8, 'expected a value, found a string'],
      ['[1, 2', 1, 6, 'expected "," or "]", found the end'],
      ['{} {}', 1, 4, 'expected nothing more, found "{"'],
      ['\ufeff{}', 1, 1, 'expected a value, found a byte order mark'],
      ['{ "a": hunter2 }', 1, 8, 'expected a value, found something else'],
      ['{ "a" 1 }', 1, 7, 'expected ":", found something else'],
      ['[/*1*/]', 1, 2, 'expected a value, found a comment'],
      ['[x]', 1, 2, 'expected a value, found something else'],
    ] as const) {
      const fault = faultOf(text)
      expect(fault, text).to.include({ line, column })
      expect(fault.message).to.match(new RegExp(`^${reason.replace(/[{}[\]]/g, '\\$&')}`))
    }
  })

  it('reports JSON members that occur more than once, and locates the last one', () => {
    const text = '{"a":1,"b":2,"a":3,"\\u0061":4}'
    const node = locateJson(text)
    expect(node.repeated).to.deep.equal(['a'])
    expect(text.slice(node.members.get('a')?.start, node.members.get('a')?.end)).to.equal('4')
  })

  it('accepts megabytes of JSON, but refuses more than 1,000 levels of nesting', () => {
    const text = JSON.stringify({ a: 'x\\"'.repeat(1_000_000) })
    expect(locateJson(text).end).to.equal(text.length)
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    expect(locateJson(nested(1001)).end).to.equal(2002)
    for (const deep of ['['.repeat(100_000), `[${nested(1001)}]`, `${'{"a":'.repeat(1001)}1${'}'.repeat(1001)}`]) {
      expect(faultOf(deep).message).to.equal('more than 1000 levels deep')
    }
  })
})
