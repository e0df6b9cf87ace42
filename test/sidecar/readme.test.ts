import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { missingAmong, type NamedTest } from '../support/named-tests.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const TABLE = readFileSync(join(FOLDER, 'README.md'), 'utf8')

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
      return { file, title }
    }),
  }),
)

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

  it('names only tests that exist', async () => {
    const named = rows.flatMap(({ tests }) => tests)
    expect(await missingAmong(named, FOLDER)).to.deep.equal([])
  }).timeout(60_000)
})
