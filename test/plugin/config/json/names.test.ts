import { expect } from 'chai'
import { asciiLowerCase, lowerCaseButAscii } from '../../../../plugin/config/json/ascii-case.ts'
import { withoutByteOrderMark } from '../../../../plugin/config/json/byte-order-mark.ts'
import { isJsonObject, membersOf } from '../../../../plugin/config/json/json-object.ts'
import { jsonPath, pointerSteps, quoted } from '../../../../plugin/config/json/json-path.ts'
import { canonicalName, spellingsOf } from '../../../../plugin/config/json/member-name.ts'

describe('members of a parsed JSON value', () => {
  it('only JSON objects have members, not null, arrays, strings, numbers or booleans', () => {
    for (const value of [null, [], ['a'], 'a', 7, true, undefined]) {
      expect(isJsonObject(value)).to.equal(false)
      expect(membersOf(value)).to.deep.equal({})
    }
    expect(isJsonObject({})).to.equal(true)
    expect(isJsonObject({ a: 1 })).to.equal(true)
    expect(membersOf({ a: 1 })).to.deep.equal({ a: 1 })
  })
})

describe('path of a member in a JSON document', () => {
  for (const [pointer, path] of [
    ['', '$'],
    ['/domains//dns', 'domains[""].dns'],
    ['/custom/scope/0', 'custom.scope[0]'],
    ['/a/12/$b_1', 'a[12].$b_1'],
    ['/a~1b~1c/~0~0/~01', '["a/b/c"]["~~"]["~1"]'],
    ['/1a/a1 /-', '["1a"]["a1 "]["-"]'],
    ['/\n\u200b\u2028\u2029\u202e', '["\\n\\u{200b}\\u{2028}\\u{2029}\\u{202e}"]'],
  ] as const) {
    it(`converts a member's JSON pointer to the path ${path}`, () =>
      expect(jsonPath(pointerSteps(pointer))).to.equal(path))
  }

  it('puts a name in quotes, and escapes quotes and control characters in the name', () => {
    expect(quoted('a\u007f"b')).to.equal('"a\\u{7f}\\"b"')
  })
})

describe('letter case of names', () => {
  it('converts only the letters A to Z to ASCII letters', () => {
    expect(asciiLowerCase('MANAGE Users, \u212a, \u0130, \u00c4, 7')).to.equal(
      'manage users, \u212a, \u0130, \u00c4, 7',
    )
  })

  it('keeps letters beyond ASCII that lower case would turn into ASCII letters', () => {
    expect(lowerCaseButAscii('\u00c4\u00d6 STAFF \u0416\ud801\udc00')).to.equal('\u00e4\u00f6 staff \u0436\ud801\udc28')
    expect(lowerCaseButAscii('\u212aEY')).to.equal('\u212aey')
    expect(lowerCaseButAscii('\u0130D')).to.equal('\u0130d')
  })
})

describe('byte order mark of a text', () => {
  it('removes one byte order mark, and only at the start of the text', () => {
    expect(withoutByteOrderMark('\ufeff{}')).to.equal('{}')
    expect(withoutByteOrderMark('\ufeff\ufeff{}')).to.equal('\ufeff{}')
    for (const text of ['{}', '', '{}\ufeff']) expect(withoutByteOrderMark(text)).to.equal(text)
  })
})

describe('lookup of known names in any letter case', () => {
  // Shows: meshcentral 1.
  it('prefers the known name in the same letter case to one in another letter case', () => {
    const names = ['Sync', 'sync', 'scope']
    expect(['sync', 'SYNC', 'Scope', 'scop'].map((name) => canonicalName(name, names))).to.deep.equal([
      'sync',
      'Sync',
      'scope',
      undefined,
    ])
  })

  it('finds all letter cases of a name, except those that are other known names', () => {
    const members = { SCOPE: 1, scope: null, Scope: undefined, another: 1 }
    expect(spellingsOf(members, 'scope')).to.deep.equal(['SCOPE', 'scope'])
    expect(spellingsOf(members, 'scope', ['scope', 'SCOPE'])).to.deep.equal(['scope'])
  })
})
