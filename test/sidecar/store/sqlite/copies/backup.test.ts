import { readdir, stat, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { openSqliteStore } from '../../../../../sidecar/store/sqlite/open-sqlite.ts'
import { append, held, message, register, rejection, SETTINGS, temporaryStores } from '../temporary-stores.ts'

describe('A backup', () => {
  const stores = temporaryStores()
  const running = new AbortController().signal

  /** Returns the texts that a store on the file `name` has for N0CALL. */
  async function contentOf(name: string, settings = SETTINGS): Promise<readonly string[]> {
    const store = await openSqliteStore(stores.path(name), settings, stores.clock, stores.log)
    try {
      return await held(store)
    } finally {
      await store.close()
    }
  }

  it('a backup contains all stored messages, and only its owner can read the file', async () => {
    const store = await stores.openWith('N0CALL')
    await append(store, 'one', message('two', { seqId: '2' }))
    const bytes = await store.backUp(stores.path('backup.sqlite'), running)
    const file = await stat(stores.path('backup.sqlite'))
    expect(file.size).to.equal(bytes)
    expect(file.mode & 0o777).to.equal(0o600)
    expect(await contentOf('backup.sqlite')).to.deep.equal(['one', 'two'])
    expect(await held(store)).to.deep.equal(['one', 'two'])
  })

  // Shows: sidecar O1.13.
  it('a backup is complete even if messages are stored while the backup runs', async () => {
    const settings = { ...SETTINGS, history: { ...SETTINGS.history, perStation: 10_000 } }
    const store = await stores.open(settings)
    const stations = Array.from({ length: 50 }, (_, index) => `N${index}CALL`)
    await register(store, ...stations)
    const filler = 'x'.repeat(400)
    for (const to of stations)
      await append(store, ...Array.from({ length: 100 }, (_, index) => message(filler, { to, seqId: String(index) })))
    let done = false
    const backup = store.backUp(stores.path('backup.sqlite'), running).finally(() => {
      done = true
    })
    let meanwhile = 0
    while (!done) await append(store, message('meanwhile', { seqId: String(++meanwhile) }))
    await backup
    // The backup copies the file in slices, and messages are stored between them.
    expect(meanwhile).to.be.above(5)
    const stored = await contentOf('backup.sqlite', settings)
    expect(stored.filter((text) => text === filler)).to.have.length(100)
  })

  it('a backup gets its name only when complete; a stopped backup leaves no file', async () => {
    const store = await stores.openWith('N0CALL')
    const stopping = new AbortController()
    stopping.abort()
    await append(store, 'x'.repeat(1_000_000))
    await rejection(store.backUp(stores.path('backup.sqlite'), stopping.signal))
    expect((await readdir(stores.path('.'))).filter((name) => name.startsWith('backup'))).to.deep.equal([])
    await store.backUp(stores.path('backup.sqlite'), running)
    expect((await readdir(stores.path('.'))).filter((name) => name.startsWith('backup'))).to.deep.equal([
      'backup.sqlite',
    ])
  })

  it('a backup to an unusable folder fails, and the store keeps running', async () => {
    const store = await stores.openWith('N0CALL')
    await writeFile(stores.path('file'), '')
    expect((await rejection(store.backUp(stores.path('file/backup.sqlite'), running))).code).to.be.a('string')
    expect((await append(store, 'after'))[0]?.kind).to.equal('stored')
    expect(store.fault()).to.equal(undefined)
  })
})
