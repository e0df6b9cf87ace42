import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { DEPRECATED_NAMES } from '../../plugin/config/migration/deprecated-keys.ts'
import type { MemberSchema } from '../../plugin/config/rules/schema/member-schema.ts'
import { oidcSchema } from '../../plugin/config/rules/schema/schema.ts'
import { PRESETS } from '../../plugin/presets/all.ts'
import { inCode } from '../support/documents.ts'
import { missingAmong, type NamedTest, testsNamedIn } from '../support/named-tests.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const MESHCENTRAL = fileURLToPath(new URL('../meshcentral/', import.meta.url))

interface Row {
  /** Names in code marks of the first column. */
  readonly what: readonly string[]
  readonly tests: readonly NamedTest[]
}

/** @param shownBy which column names tests */
function rowsOf(text: string, shownBy: number): readonly Row[] {
  const lines = text.split('\n').filter((line) => line.startsWith('| ') && !/^\| (---|what|row) /.test(line))
  return lines.map((line) => {
    const cells = line.slice(2, -2).split(' | ')
    return { what: inCode(cells[0] ?? ''), tests: testsNamedIn(cells[shownBy] ?? '') }
  })
}

function pathsOf(schema: MemberSchema, path = ''): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const here = path === '' ? name : `${path}.${name}`
    return [here, ...pathsOf(member, here)]
  })
}

describe('the table of what the plugin does', () => {
  let rows: readonly Row[]
  before(async () => {
    rows = rowsOf(await readFile(join(FOLDER, 'README.md'), 'utf8'), 2)
  })

  it('has a row for every member of the configuration, and for every deprecated key', () => {
    const named = new Set(rows.flatMap(({ what }) => what))
    const members = pathsOf(oidcSchema(PRESETS))
    expect(members.length).to.be.above(60)
    expect([...members, ...DEPRECATED_NAMES].filter((member) => !named.has(member))).to.deep.equal([])
  })

  it('names tests that there are, at least one in each row', async () => {
    expect(rows.filter(({ tests }) => tests.length === 0)).to.deep.equal([])
    const named = rows.flatMap(({ tests }) => tests)
    expect(await missingAmong(named, FOLDER)).to.deep.equal([])
  }).timeout(60_000)
})

describe('the table of what the plugin does better in MeshCentral', () => {
  it('names tests that there are, at least one in each row', async () => {
    const text = await readFile(join(MESHCENTRAL, 'README.md'), 'utf8')
    const rows = rowsOf(text, 3).filter(({ tests }) => tests.length > 0)
    expect(rows).to.have.length(27)
    const named = rows.flatMap(({ tests }) => tests)
    expect(await missingAmong(named, MESHCENTRAL)).to.deep.equal([])
  }).timeout(60_000)
})
