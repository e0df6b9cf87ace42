import { copyFile, readdir, rename, rm, symlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { append, held, message, register, temporaryStores } from '../temporary-stores.ts'

describe('The write-ahead log of a database', () => {
  const stores = temporaryStores()
  const backup = () => stores.path('backup.sqlite')

  /** Backs up a store after its first message, stores a second message, runs `happens`, and closes the store. */
  async function closedAfter(happens: (path: string) => Promise<unknown>, path = stores.path()): Promise<void> {
    const store = await stores.open({}, path)
    await register(store, 'N0CALL')
    await append(store, 'in the backup')
    await store.backUp(backup(), new AbortController().signal)
    await append(store, message('in the log', { seqId: '2' }))
    stores.lines.length = 0
    await happens(path)
    await store.close()
  }

  async function found(): Promise<readonly string[]> {
    const store = await stores.open()
    return await held(store)
  }

  const beside = async () =>
    (await readdir(dirname(stores.path()))).filter((name) => /^store\.sqlite.*-wal$/.test(name))
  const events = () => stores.lines.map(({ level, event }) => [level, event])

  for (const [caseName, happens] of [
    ['was replaced', (path: string) => copyFile(backup(), `${path}.new`).then(() => rename(`${path}.new`, path))],
    ['was deleted', (path: string) => rm(path)],
  ] as const) {
    // Shows: sidecar C13.15.
    it(`a closing store renames its WAL file and warns if its database ${caseName}`, async () => {
      await closedAfter(happens)
      expect(events()).to.deep.equal([['warn', 'database-log-left']])
      expect((await beside()).join()).to.match(/^store\.sqlite\.gone-\w+-wal$/)
      await copyFile(backup(), stores.path())
      expect(await found()).to.deep.equal(['in the backup'])
    })
  }

  it('a closing store finds its WAL file if the database path is a symbolic link', async () => {
    await (await stores.open()).close()
    await symlink(stores.path(), stores.path('link.sqlite'))
    await closedAfter(() => rm(stores.path()), stores.path('link.sqlite'))
    expect((await beside()).join()).to.match(/\.gone-/)
  })

  it('no message is lost if the moved database and its WAL file are renamed back', async () => {
    await closedAfter((path) => rename(path, stores.path('moved.sqlite')))
    const [log = ''] = await beside()
    await rename(stores.path('moved.sqlite'), stores.path())
    await rename(stores.path(log), `${stores.path()}-wal`)
    expect(await found()).to.deep.equal(['in the backup', 'in the log'])
  })

  it("closing deletes the store's WAL file, but not the WAL file of another database", async () => {
    await closedAfter(async () => {})
    expect(await beside()).to.deep.equal([])
    expect(events()).to.deep.equal([])
    await closedAfter(async (path) => {
      await rm(path)
      await copyFile(backup(), `${path}-wal.copy`)
      await rename(`${path}-wal.copy`, `${path}-wal`)
    })
    expect(await beside()).to.deep.equal(['store.sqlite-wal'])
    expect(events()).to.deep.equal([])
  })
})
