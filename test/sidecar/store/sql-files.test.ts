import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { SCHEMA } from '../../../sidecar/store/postgres/database/session.ts'
import { LITERALS, SCHEMA_FILES } from '../../../sidecar/store/postgres/schema/schema-files.ts'
import { readSql } from '../../../sidecar/store/read-sql.ts'
import { freshDatabase, runAt } from './postgres/shared-server.ts'

const STORE = new URL('../../../sidecar/store/', import.meta.url)
const FILES = readdirSync(STORE, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.sql'))
  .map((name) => new URL(name, STORE))
const textOf = (file: URL) => readFileSync(file, 'utf8')
const nameOf = (file: URL) => file.href.slice(STORE.href.length)

/** Files that the schema consists of; all others are single statements with parameters. */
const isOfSchema = (file: URL) => /^postgres\/schema\/\w+\//.test(nameOf(file))
const statements = FILES.filter((file) => nameOf(file).startsWith('postgres/') && !isOfSchema(file))

describe('The SQL files', () => {
  it('SQL files have short lines, no tabs, no trailing blanks and a final newline', () => {
    expect(FILES.length).to.be.above(40)
    for (const file of FILES) {
      const text = textOf(file)
      const wrong = text.split('\n').filter((line) => line.length > 120 || /\t|\s$/.test(line))
      expect(wrong, nameOf(file)).to.deep.equal([])
      expect(text, nameOf(file)).to.match(/[^\n]\n$/)
    }
  })

  it('SQL files contain the current values of the constants that they name', () => {
    const values = { ...LITERALS, SCHEMA, PAGE: 5000, DAY_MS: 86_400_000, SLICE_ROWS: 500 }
    for (const file of FILES)
      expect(textOf(file), nameOf(file)).to.satisfy((text: string) => text.endsWith(readSql(file, values)))
  })

  it('readSql inserts constants into an SQL file, and throws if a value is missing', () => {
    const file = SCHEMA_FILES.find((item) => item.href.endsWith('take-name.sql')) as URL
    expect(readSql(file, { LEASE_MS: 1 })).to.include('>= 1 /* LEASE_MS */')
    expect(() => readSql(file)).to.throw('the named literal LEASE_MS was given no value')
  })

  it('creating the PostgreSQL schema runs every file of the schema', () => {
    expect(SCHEMA_FILES.map(nameOf)).to.have.members(FILES.filter(isOfSchema).map(nameOf))
  })

  describe('The SQL files on PostgreSQL', () => {
    let address = ''
    before(async function () {
      this.timeout(120_000)
      address = await freshDatabase()
      await runAt(address, `CREATE SCHEMA ${SCHEMA}`)
    })
    const run = (text: string) => runAt(address, `SET search_path = ${SCHEMA}; ${text}`)

    it('the schema files create the tables and functions; function files can run again', async () => {
      for (const file of SCHEMA_FILES) await run(textOf(file))
      for (const file of SCHEMA_FILES) if (!nameOf(file).includes('/tables/')) await run(textOf(file))
      const [row] = await run(`SELECT
        (SELECT count(*)::int FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind = 'r') AS tables,
        (SELECT count(*)::int FROM pg_proc WHERE pronamespace = '${SCHEMA}'::regnamespace) AS functions`)
      const tables = SCHEMA_FILES.filter((file) => nameOf(file).includes('/tables/')).length - 1
      expect(row).to.deep.equal({ tables, functions: SCHEMA_FILES.length - tables })
    })

    for (const file of statements)
      it(`${nameOf(file).replace(/.*\//, '')} can be prepared as a single statement`, () =>
        run(`PREPARE statement AS ${textOf(file)}`))
  })

  it('all SQL files are in the folder that the build copies', () => {
    const root = fileURLToPath(new URL('../../../', import.meta.url))
    const elsewhere = readdirSync(`${root}sidecar`, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.sql') && !/^store[\\/]/.test(name),
    )
    expect(elsewhere).to.deep.equal([])
  })
})
