import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { DEPRECATED_NAMES } from '../../plugin/config/migration/deprecated-keys.ts'
import type { MemberSchema } from '../../plugin/config/rules/schema/member-schema.ts'
import { oidcSchema } from '../../plugin/config/rules/schema/schema.ts'
import { PRESETS } from '../../plugin/presets/all.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const MOCHA = fileURLToPath(new URL('../../node_modules/mocha/bin/mocha.js', import.meta.url))

interface Row {
  /** Names in code marks of the first column. */
  readonly what: readonly string[]
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

const codes = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

function readRow(line: string): Row {
  const [what = '', , shownBy = ''] = line.slice(2, -2).split(' | ')
  const tests = shownBy.split('<br>').flatMap((part) => {
    const [file = '', ...titles] = codes(part)
    return titles.map((title) => ({ file, title }))
  })
  return { what: codes(what), tests }
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
    const text = await readFile(join(FOLDER, 'README.md'), 'utf8')
    rows = text
      .split('\n')
      .filter((line) => line.startsWith('| ') && !/^\| (---|what) /.test(line))
      .map(readRow)
  })

  it('has a row for every member of the configuration, and for every deprecated key', () => {
    const named = new Set(rows.flatMap(({ what }) => what))
    const members = pathsOf(oidcSchema(PRESETS))
    expect(members.length).to.be.above(60)
    expect([...members, ...DEPRECATED_NAMES].filter((member) => !named.has(member))).to.deep.equal([])
  })

  it('names tests that there are, at least one in each row', async () => {
    expect(rows.filter(({ tests }) => tests.length === 0)).to.deep.equal([])
    const wanted = rows.flatMap(({ tests }) => tests)
    const there = await testsIn([...new Set(wanted.map(({ file }) => file))])
    expect(wanted.filter(({ file, title }) => !there.get(file)?.has(title))).to.deep.equal([])
  }).timeout(60_000)
})

/** Titles of the tests in these files, as mocha finds them without running any. */
async function testsIn(files: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const scratch = await mkdtemp(join(tmpdir(), 'test-titles-'))
  try {
    const output = join(scratch, 'titles.json')
    const options = ['--no-config', '--dry-run', '--reporter', 'json', '--reporter-option', `output=${output}`]
    const paths = files.map((file) => join(FOLDER, file))
    await promisify(execFile)(process.execPath, ['--import', 'tsx', MOCHA, ...options, ...paths], {
      timeout: 50_000,
      maxBuffer: 64 * 1024 * 1024,
    })
    const { tests } = JSON.parse(await readFile(output, 'utf8')) as { tests: { file: string; title: string }[] }
    const titles = new Map<string, Set<string>>()
    for (const { file, title } of tests) {
      const name = relative(FOLDER, file).split(sep).join('/')
      titles.set(name, (titles.get(name) ?? new Set()).add(title))
    }
    return titles
  } finally {
    await rm(scratch, { recursive: true })
  }
}
