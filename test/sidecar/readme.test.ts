import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const TABLE = readFileSync(join(FOLDER, 'README.md'), 'utf8')

interface Row {
  readonly id: string
  readonly statement: string
  /** As written: a file and the name of a test each. */
  readonly tests: readonly string[]
}

const rows: readonly Row[] = [...TABLE.matchAll(/^\| (\w+\.\d+) \|(.*)\|(.*)\|$/gm)].map(
  ([, id = '', statement = '', tests = '']) => ({
    id,
    statement: statement.trim(),
    tests: tests
      .split('<br>')
      .map((test) => test.trim())
      .filter((test) => test !== ''),
  }),
)

/** What the tests in `file` are called; where a name is put together, any text fits that part of it. */
function namesIn(file: string): readonly RegExp[] {
  const source = readFileSync(join(FOLDER, file), 'utf8')
  return [...source.matchAll(/\bit\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g)].map(([, quote, name = '']) => {
    const parts = quote === '`' ? name.split(/\$\{[^}]*\}/) : [name]
    return new RegExp(`^${parts.map(escaped).join('.+')}$`)
  })
}

function escaped(text: string): string {
  return text.replace(/\\(.)/g, '$1').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function isThere(test: string): boolean {
  const [, file = '', name = ''] = /^`([^`]+)`: (.+)$/.exec(test) ?? []
  return file.endsWith('.test.ts') && existsSync(join(FOLDER, file)) && namesIn(file).some((one) => one.test(name))
}

describe('the table of what shows the specification', () => {
  it('has a statement and at least one test in every row, and numbers the rows of each heading from 1', () => {
    expect(rows.length).to.be.above(150)
    expect(rows.filter(({ statement, tests }) => statement === '' || tests.length === 0)).to.deep.equal([])
    const lines = TABLE.split('\n').filter((line) => line.startsWith('|') && !/^\|( statement|-| # )/.test(line))
    expect(lines).to.have.length(rows.length)
    const expected = new Map<string, number>()
    for (const { id } of rows) {
      const [heading = '', number] = id.split('.')
      expected.set(heading, (expected.get(heading) ?? 0) + 1)
      expect([id, Number(number)]).to.deep.equal([id, expected.get(heading)])
    }
  })

  it('names only tests that exist', () => {
    const missing = rows.flatMap(({ id, tests }) =>
      tests.filter((test) => !isThere(test)).map((test) => `${id} ${test}`),
    )
    expect(missing).to.deep.equal([])
  })
})
