import { expect } from 'chai'
import { isJsonObject, membersOf } from '../../../../plugin/config/json/json-object.ts'
import { jsonPath, pointerSteps, quoted } from '../../../../plugin/config/json/json-path.ts'
import { canonicalName, spellingsOf } from '../../../../plugin/config/json/member-name.ts'

describe('a JSON object', () => {
  it('is neither null nor a list nor a single value, of all of which no member is read', () => {
    for (const other of [null, [], ['a'], 'a', 7, true, undefined]) {
      expect(isJsonObject(other)).to.equal(false)
      expect(membersOf(other)).to.deep.equal({})
    }
    expect([isJsonObject({}), isJsonObject({ a: 1 }), membersOf({ a: 1 })]).to.deep.equal([true, true, { a: 1 }])
  })
})

describe('a place in a JSON document', () => {
  for (const [pointer, path] of [
    ['', '$'],
    ['/domains//dns', 'domains[""].dns'],
    ['/custom/scope/0', 'custom.scope[0]'],
    ['/a/12/$b_1', 'a[12].$b_1'],
    ['/a~1b~1c/~0~0/~01', '["a/b/c"]["~~"]["~1"]'],
    ['/1a/a1 /-', '["1a"]["a1 "]["-"]'],
    ['/\n\u200b\u2028\u2029\u202e', '["\\n\\u{200b}\\u{2028}\\u{2029}\\u{202e}"]'],
  ] as const) {
    it(`is written as ${path}`, () => expect(jsonPath(pointerSteps(pointer))).to.equal(path))
  }

  it('shows no character of a name that a terminal would not', () => {
    expect(quoted('a\u007f"b')).to.equal('"a\\u{7f}\\"b"')
  })
})

describe("a member's name", () => {
  // Shows: meshcentral 1.
  it('means the known one that it is, else the first that differs in letter case only', () => {
    const known = ['Sync', 'sync', 'scope']
    expect(['sync', 'SYNC', 'Scope', 'scop'].map((name) => canonicalName(name, known))).to.deep.equal([
      'sync',
      'Sync',
      'scope',
      undefined,
    ])
  })

  it('has the spellings under which something is there, but for those that mean another one', () => {
    const members = { SCOPE: 1, scope: null, Scope: undefined, other: 1 }
    expect(spellingsOf(members, 'scope')).to.deep.equal(['SCOPE', 'scope'])
    expect(spellingsOf(members, 'scope', ['scope', 'SCOPE'])).to.deep.equal(['scope'])
  })
})
