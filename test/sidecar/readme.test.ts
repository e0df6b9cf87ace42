import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const ROOT = join(FOLDER, '../..')
const TABLE = readFileSync(join(FOLDER, 'README.md'), 'utf8')

interface NamedTest {
  /** Absolute. */
  readonly file: string
  readonly title: string
}

interface Row {
  readonly id: string
  readonly statement: string
  readonly tests: readonly NamedTest[]
}

const rows: readonly Row[] = [...TABLE.matchAll(/^\| (\w+\.\d+) \|(.*)\|(.*)\|$/gm)].map(
  ([, id = '', statement = '', tests = '']) => ({
    id,
    statement: statement.trim(),
    tests: tests.split('<br>').map((test) => {
      const [, file = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(test.trim()) ?? []
      return { file: join(FOLDER, file), title }
    }),
  }),
)

/** The tests of these files, named as mocha names them, without running any. */
function testsIn(files: readonly string[]): readonly NamedTest[] {
  const mocha = ['--import', 'tsx', 'node_modules/mocha/bin/mocha.js', '--no-config', '--dry-run', '--reporter', 'json']
  const { stdout } = spawnSync(process.execPath, [...mocha, ...files], { cwd: ROOT, encoding: 'utf8', maxBuffer: 2e7 })
  return (JSON.parse(stdout.slice(stdout.indexOf('{'))) as { tests: NamedTest[] }).tests
}

describe('the table of what shows the specification', () => {
  it('has a statement and a test in every row, and numbers the rows of each heading from 1', () => {
    expect(rows.length).to.be.above(200)
    const incomplete = rows.filter(
      ({ statement, tests }) => statement === '' || tests.some(({ title }) => title === ''),
    )
    expect(incomplete).to.deep.equal([])
    const lines = TABLE.split('\n').filter((line) => line.startsWith('|') && !/^\|(---| # )/.test(line))
    expect(lines).to.have.length(rows.length)
    const numbers = new Map<string, number>()
    for (const { id } of rows) {
      const [heading = '', number] = id.split('.')
      numbers.set(heading, (numbers.get(heading) ?? 0) + 1)
      expect(Number(number), id).to.equal(numbers.get(heading))
    }
  })

  it('names only tests that exist', () => {
    const files = new Set(rows.flatMap(({ tests }) => tests.map(({ file }) => file)))
    const existing = new Set(testsIn([...files]).map(({ file, title }) => `${file}: ${title}`))
    const missing = rows.flatMap(({ id, tests }) =>
      tests.filter(({ file, title }) => !existing.has(`${file}: ${title}`)).map(({ title }) => `${id} ${title}`),
    )
    expect(missing).to.deep.equal([])
  })
})
