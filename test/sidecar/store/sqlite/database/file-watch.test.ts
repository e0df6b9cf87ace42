import {
  copyFile,
  open as openHandle,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect } from 'chai'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { createMarkReader, type MarkReader } from '../../../../../sidecar/store/sqlite/database/file-mark.ts'
import { type FileWatch, watchDatabaseFile } from '../../../../../sidecar/store/sqlite/database/file-watch.ts'
import type { StoreError } from '../../../../../sidecar/store-error.ts'
import { register, temporaryStores } from '../temporary-stores.ts'

describe('The watch over the file of the database', () => {
  const stores = temporaryStores()
  let store: Store
  let marks: MarkReader
  let watch: FileWatch
  afterEach(async () => {
    await watch.close()
    await store.close()
    await marks.close()
  })

  async function open(path = stores.path('data/store.sqlite')) {
    store = await stores.open({}, path)
    marks = createMarkReader(path)
    watch = await watchDatabaseFile(path, marks, stores.clock, stores.log)
    await register(store, 'N0CALL')
    stores.lines.length = 0
    return path
  }

  /** Lets the time go by within which it has to notice; resolves when the system has answered what was asked. */
  async function tenSeconds(): Promise<void> {
    const { pending } = stores.clock
    await stores.clock.advance(10_000)
    while (stores.clock.pending < pending) await new Promise((resolve) => setImmediate(resolve))
  }

  const events = () => stores.lines.map(({ level, event }) => [level, event])

  for (const [what, happens] of [
    ['is deleted', (path: string) => rm(path)],
    ['is replaced', (path: string) => copyFile(path, `${path}.copy`).then(() => rename(`${path}.copy`, path))],
    ['loses its log', (path: string) => rm(`${path}-wal`)],
    ['goes with its folder', (path: string) => rm(dirname(path), { recursive: true })],
  ] as const) {
    it(`notices within 10 s that it ${what}, says so once, with a remedy, and goes on saying so to who asks`, async () => {
      await happens(await open())
      await tenSeconds()
      await tenSeconds()
      // What it holds is still its own, and to be saved.
      await watch.assertOwn()
      expect(watch.problems()).to.deep.equal(['database_replaced'])
      expect(events()).to.deep.equal([['error', 'database-gone']])
      expect(stores.lines[0]?.remedy).to.match(/\.$/)
    })
  }

  it('notices when it is asked, without waiting for the time of its own look', async () => {
    const path = await open()
    await rm(path)
    await stores.clock.advance(100)
    expect(watch.kept()).to.equal(false)
    expect(events()).to.deep.equal([['error', 'database-gone']])
  })

  for (const [what, overwrite] of [
    ['a backup that was copied over it', (path: string) => copyFile(stores.path('backup.sqlite'), path)],
    ['what is no database', (path: string) => writeFile(path, 'no database at all, but of some length'.repeat(9))],
    ['nothing at all', (path: string) => truncate(path)],
  ] as const) {
    it(`notices ${what}, though it is the same file by name and inode, and writes nothing into it from then on`, async () => {
      const path = await open()
      await store.backUp(stores.path('backup.sqlite'), new AbortController().signal)
      await register(store, 'N1CALL')
      await overwrite(path)
      const put = await readFile(path)
      expect(await watch.assertOwn().catch((error: StoreError) => error.code)).to.equal('database_overwritten')
      await tenSeconds()
      expect([watch.kept(), watch.problems()]).to.deep.equal([false, ['database_replaced']])
      expect(events()).to.deep.equal([['error', 'database-gone']])
      expect(stores.lines[0]?.msg).to.match(/overwritten/)
      await tenSeconds()
      await register(store, 'N2CALL')
      await store.close()
      expect((await readFile(path)).equals(put)).to.equal(true)
      expect((await readdir(dirname(path))).filter((name) => !name.includes('.gone-'))).to.deep.equal(['store.sqlite'])
    })
  }

  it('lets whoever copies over the file finish first', async () => {
    const path = await open()
    const copier = await openHandle(path, 'w')
    for (const part of ['one ', 'two ', 'three']) {
      await copier.write(part)
      await tenSeconds()
    }
    await tenSeconds()
    await copier.close()
    expect(await readFile(path, 'utf8')).to.equal('one two three')
  })

  it('leaves another file alone that came in the place of the one that was overwritten', async () => {
    const path = await open()
    await truncate(path)
    await tenSeconds()
    await writeFile(`${path}.new`, 'new')
    await rename(`${path}.new`, path)
    const { ino } = await stat(path)
    await tenSeconds()
    await tenSeconds()
    expect((await stat(path)).ino).to.equal(ino)
  })

  it('notices it when it is closed, too, before the database is: what its log holds would go into the file', async () => {
    const path = await open()
    await store.backUp(stores.path('backup.sqlite'), new AbortController().signal)
    await register(store, 'N1CALL')
    await copyFile(stores.path('backup.sqlite'), path)
    await watch.close()
    await store.close()
    expect((await readFile(path)).equals(await readFile(stores.path('backup.sqlite')))).to.equal(true)
  })

  it('is content again when the very same file is back', async () => {
    const path = await open()
    await rename(path, stores.path('elsewhere.sqlite'))
    await tenSeconds()
    await rename(stores.path('elsewhere.sqlite'), path)
    await tenSeconds()
    expect(watch.kept()).to.equal(true)
    expect(events()).to.deep.equal([
      ['error', 'database-gone'],
      ['info', 'database-back'],
    ])
    expect(watch.problems()).to.deep.equal([])
  })

  it('says nothing while the file grows and its log starts over, nor once it is closed', async () => {
    const path = await open()
    await register(store, ...Array.from({ length: 500 }, (_, index) => `N${index}A`))
    await store.housekeeping.tidy(new AbortController().signal)
    await register(store, 'N1CALL')
    await tenSeconds()
    await watch.close()
    await rm(path)
    await tenSeconds()
    expect([watch.kept(), events(), stores.clock.pending]).to.deep.equal([true, [], 0])
  })

  it('has nothing to watch in memory', async () => {
    const { pending } = stores.clock
    await open(':memory:')
    expect([watch.kept(), watch.problems(), stores.clock.pending]).to.deep.equal([true, [], pending])
  })
})
