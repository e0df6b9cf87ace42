import { chmodSync, statSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { STORE_FAULTS } from '../../../../sidecar/errors.ts'
import { NEWEST } from '../../../../sidecar/store/sqlite/database/migrations.ts'
import { openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { BROKEN_FILES, run } from './broken-files.ts'
import { append, held, register, registration, rejection, SETTINGS, temporaryStores } from './temporary-stores.ts'

describe('The opening of the store in SQLite', () => {
  const stores = temporaryStores()

  // Shows: sidecar C8.1.
  it('creates the database and its folders with access for the owner alone', async () => {
    const path = stores.path('new/folder/store.sqlite')
    const store = await stores.open({}, path)
    await register(store, 'N0CALL')
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    expect(statSync(`${path}-wal`).mode & 0o777).to.equal(0o600)
    expect(statSync(dirname(path)).mode & 0o777).to.equal(0o700)
  })

  it('revokes the access of other users to an existing database file', async () => {
    const first = await stores.open()
    await first.close()
    chmodSync(stores.path(), 0o644)
    await stores.open()
    expect(statSync(stores.path()).mode & 0o777).to.equal(0o600)
  })

  // Shows: sidecar C1.12.
  it('opens a store without a file if the path is :memory:', async () => {
    const store = await stores.open({}, ':memory:')
    await register(store, 'N0CALL')
    await append(store, 'hello')
    expect(await held(store)).to.deep.equal(['hello'])
  })

  // Shows: sidecar C8.4.
  it('opens the database with full sync, foreign keys and strict tables', async () => {
    const { connection } = await stores.openOver()
    const [pragmas] = await connection.all(`
      SELECT journal_mode, synchronous, foreign_keys, page_size
      FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys, pragma_page_size`)
    expect(pragmas).to.deep.equal({ journal_mode: 'wal', synchronous: 2, foreign_keys: 1, page_size: 2048 })
    const tables = await connection.all(`SELECT name FROM pragma_table_list WHERE schema = 'main' AND NOT strict`)
    expect(tables).to.deep.equal([{ name: 'sqlite_schema' }])
  })

  async function refusal(path = stores.path()) {
    return rejection(openSqliteStore(path, SETTINGS, stores.clock, stores.log))
  }

  async function filledFile(): Promise<void> {
    const store = await stores.openWith('N0CALL', 'W1AW')
    for (let index = 0; index < 50; index += 1) await append(store, `text ${index} ${'.'.repeat(200)}`)
    await store.close()
  }

  // Shows: sidecar C8.7, C8.10.
  for (const [caseName, code, make] of BROKEN_FILES)
    it(`refuses a database file that is ${caseName}, and leaves it unchanged`, async () => {
      await filledFile()
      await make(stores.path())
      await chmod(stores.path(), 0o644)
      const bytesBefore = await readFile(stores.path())
      expect(await refusal()).to.include({ code, remedy: STORE_FAULTS[code].remedy })
      expect((await readFile(stores.path())).equals(bytesBefore)).to.equal(true)
      if (code === 'database_foreign') expect(statSync(stores.path()).mode & 0o777).to.equal(0o644)
    })

  // Shows: sidecar C8.9.
  it('refuses a database that this process already has open', async () => {
    await stores.open()
    expect((await refusal()).code).to.equal('database_locked')
  })

  it('refuses a database path that is a folder, or below a file', async () => {
    await mkdir(stores.path('folder'))
    await writeFile(stores.path('file'), '')
    for (const path of [stores.path('folder'), stores.path('file/store.sqlite')]) {
      const error = await refusal(path)
      expect(error.code, path).to.equal('database_not_writable')
      expect(error.remedy).to.include('"database"')
    }
  })

  const isRoot = process.getuid?.() === 0
  const forOthers = isRoot ? it.skip : it
  forOthers(`refuses a database file without write permission${isRoot ? ' (skipped for root)' : ''}`, async () => {
    await filledFile()
    chmodSync(stores.path(), 0o400)
    expect((await refusal()).code).to.equal('database_not_writable')
  })

  it('opens a database that it refused earlier, once the cause is removed', async () => {
    await filledFile()
    await run(stores.path(), 'PRAGMA user_version = 99')
    await refusal()
    await run(stores.path(), `PRAGMA user_version = ${NEWEST}`)
    const store = await stores.open()
    expect(store.stations.size).to.equal(2)
  })
})

describe('The closing of the store in SQLite', () => {
  const stores = temporaryStores()

  // Shows: sidecar C8.1.
  it('closing the store finishes waiting writes and leaves a single file', async () => {
    const store = await stores.openWith('N0CALL')
    const waiting = append(store, 'just in time')
    await Promise.all([store.close(), store.close()])
    expect((await waiting)[0]?.kind).to.equal('stored')
    expect(() => statSync(`${stores.path()}-wal`)).to.throw('ENOENT')
    const repeated = await stores.open()
    expect(await held(repeated)).to.deep.equal(['just in time'])
  })

  it('a closed store refuses every call with store_closed', async () => {
    const store = await stores.openWith('N0CALL')
    await store.close()
    await store.close()
    const { history, stations, stamps } = store
    const calls = [
      () => append({ history }, 'late'),
      () => append({ history }),
      () => history.since('N0CALL', '', 0),
      () => stations.register(registration('N0CALL')),
      () => stations.register(registration('W1AW')),
      () => stations.remove('N0CALL'),
      () => stations.markTokenDead('N0CALL', '', 'token-of-N0CALL'),
      () => stations.avatars(['N0CALL']),
      () => stamps.issue(),
    ]
    for (const call of calls) expect((await rejection(call())).code, String(call)).to.equal('store_closed')
  })
})
