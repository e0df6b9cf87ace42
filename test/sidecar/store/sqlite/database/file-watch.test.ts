import { copyFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect } from 'chai'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { type FileWatch, watchDatabaseFile } from '../../../../../sidecar/store/sqlite/database/file-watch.ts'
import { until } from '../../../../support/until.ts'
import { register, temporaryStores } from '../temporary-stores.ts'

describe('The watch over the database file', () => {
  const stores = temporaryStores()
  let store: Store
  let watch: FileWatch
  afterEach(async () => {
    await watch.close()
    await store.close()
  })

  async function open(path = stores.path('data/store.sqlite')) {
    store = await stores.open({}, path)
    watch = await watchDatabaseFile(path, stores.clock, stores.log)
    await register(store, 'N0CALL')
    stores.lines.length = 0
    return path
  }

  /** Advances the clock by 10 s, the time limit for noticing a change. Resolves once the watch has checked the file. */
  async function tenSeconds(): Promise<void> {
    const { pending } = stores.clock
    await stores.clock.advance(10_000)
    await until('the next check to be planned', () => stores.clock.pending >= pending)
  }

  const events = () => stores.lines.map(({ level, event }) => [level, event])

  for (const [name, happens] of [
    ['is deleted', (path: string) => rm(path)],
    ['is replaced', (path: string) => copyFile(path, `${path}.copy`).then(() => rename(`${path}.copy`, path))],
    ['loses its log', (path: string) => rm(`${path}-wal`)],
    ['loses its folder', (path: string) => rm(dirname(path), { recursive: true })],
  ] as const) {
    // Shows: sidecar C13.15.
    it(`reports within 10 s that the database ${name}, and logs the fault once`, async () => {
      await happens(await open())
      await tenSeconds()
      await tenSeconds()
      expect(watch.problems()).to.deep.equal(['database_replaced'])
      expect(events()).to.deep.equal([['error', 'database-gone']])
      expect(stores.lines[0]?.remedy).to.match(/\.$/)
    })
  }

  it('reports no fault once the same database file is back', async () => {
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

  it('reports no fault if the database grows, the WAL restarts or the watch is closed', async () => {
    const path = await open()
    await register(store, ...Array.from({ length: 500 }, (_, index) => `N${index}A`))
    await store.housekeeping.tidy(new AbortController().signal)
    await register(store, 'N1CALL')
    await tenSeconds()
    await watch.close()
    await rm(path)
    await tenSeconds()
    expect(watch.kept()).to.equal(true)
    expect(events()).to.deep.equal([])
    expect(stores.clock.pending).to.equal(0)
  })

  it('does not watch a database that is in memory', async () => {
    const { pending } = stores.clock
    await open(':memory:')
    expect(watch.kept()).to.equal(true)
    expect(watch.problems()).to.deep.equal([])
    expect(stores.clock.pending).to.equal(pending)
  })
})
