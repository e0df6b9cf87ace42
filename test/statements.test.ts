import { expect } from 'chai'
import { DEPRECATED_NAMES } from '../plugin/config/migration/deprecated-keys.ts'
import type { MemberSchema } from '../plugin/config/rules/schema/member-schema.ts'
import { oidcSchema } from '../plugin/config/rules/schema/schema.ts'
import { PRESETS } from '../plugin/presets/presets.ts'
import { inCode } from './support/documents.ts'
import { readStatements, readTags, tagsIn } from './support/statements.ts'

const statements = readStatements()
const tags = readTags()
const ids = new Set(statements.map(({ id }) => id))

/** Paths of all members, such as `groups.claim`. */
function pathsOf(schema: MemberSchema, parent = ''): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = parent === '' ? name : `${parent}.${name}`
    return [path, ...pathsOf(member, path)]
  })
}

describe('The statements of the specifications', () => {
  it('statement ids count from 1 without gaps in each section of the specifications', () => {
    expect(statements.length).to.be.above(700)
    const numbers = new Map<string, number>()
    for (const { id } of statements) {
      const [, heading = '', number] = /^(.*?)(\d+)$/.exec(id) ?? []
      numbers.set(heading, (numbers.get(heading) ?? 0) + 1)
      expect(Number(number), id).to.equal(numbers.get(heading))
    }
  })

  it('no statement of the specifications is empty', () => {
    expect(statements.filter(({ cells }) => (cells[0] ?? '') === '')).to.deep.equal([])
  })

  it('each statement of the specifications has a test that names its id', () => {
    const shown = new Set(tags.flatMap((tag) => tag.ids))
    expect([...ids].filter((id) => !shown.has(id))).to.deep.equal([])
  })

  it("the plugin's statements name each configuration member and each deprecated key", () => {
    const ofPlugin = statements.filter(({ id }) => id.startsWith('plugin '))
    const named = new Set(ofPlugin.flatMap(({ cells }) => inCode(cells[0] ?? '')))
    const members = pathsOf(oidcSchema(PRESETS))
    expect(members.length).to.be.above(60)
    expect([...members, ...DEPRECATED_NAMES].filter((member) => !named.has(member))).to.deep.equal([])
  })
})

describe('The "Shows" comments above tests', () => {
  it('each "Shows" comment lists statement ids in the form that the search expects', () => {
    expect(tags.filter((tag) => tag.ids.length === 0)).to.deep.equal([])
  })

  it('"Shows" comments list only ids of existing statements', () => {
    const unknown = tags.flatMap((tag) => tag.ids.filter((id) => !ids.has(id)).map((id) => ({ ...tag, id })))
    expect(unknown).to.deep.equal([])
  })

  it('each "Shows" comment is directly above a test', () => {
    expect(tags.filter(({ title }) => title === undefined)).to.deep.equal([])
  })

  it('finds "Shows" comments above tests, describes, loops and helper calls', () => {
    const source = [
      '// Shows: sidecar 2.4, C3.1.',
      '// Shows: plugin 1.1.',
      "it('keeps a message', () => {",
      '// Shows: plugin 1.2.',
      'for (const name of [',
      "  'a',",
      '])',
      '  it(`works`, () => {',
      '// Shows: plugin 1.3.',
      'itReadsMembers(',
      '  cases,',
      '// Shows: plugin 1.4.',
      'describe(`of each`, () => {',
      '// Shows: plugin 1.5.',
      'expect(1)',
      '// Shows: 1.6',
    ].join('\n')
    expect(tagsIn(source, 'a.ts')).to.deep.equal([
      { ids: ['sidecar 2.4', 'sidecar C3.1'], file: 'a.ts', line: 1, title: 'keeps a message' },
      { ids: ['plugin 1.1'], file: 'a.ts', line: 2, title: 'keeps a message' },
      { ids: ['plugin 1.2'], file: 'a.ts', line: 4, title: 'works' },
      { ids: ['plugin 1.3'], file: 'a.ts', line: 9, title: 'cases' },
      { ids: ['plugin 1.4'], file: 'a.ts', line: 12, title: 'of each' },
      { ids: ['plugin 1.5'], file: 'a.ts', line: 14, title: undefined },
      { ids: [], file: 'a.ts', line: 16, title: undefined },
    ])
  })
})
