import { chown, copyFile, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { restoreDatabase } from '../../../../../sidecar/store/sqlite/copies/restore.ts'
import { connect } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import { BROKEN_FILES, foreign } from '../broken-files.ts'
import { append, held, message, newer, rejection, temporaryStores } from '../temporary-stores.ts'

describe('A restore', () => {
  const stores = temporaryStores()
  const running = new AbortController().signal
  const backup = () => stores.path('backup.sqlite')
  const restore = (source = backup()) => restoreDatabase(source, stores.path(), stores.clock.now())

  /**
   * Backs up a store after its first message, stores a second message, and closes the store. Returns the newest cursor.
   */
  async function storeAndBackup(): Promise<number> {
    const store = await stores.openWith('N0CALL')
    await append(store, 'kept')
    await store.backUp(backup(), running)
    await stores.clock.advance(60_000)
    await append(store, message('later', { seqId: '2' }))
    const { answerStamp } = await newer(store, 'N0CALL')
    await store.close()
    return answerStamp
  }

  async function messagesOf(path = stores.path(), since = 0, ...stored: readonly string[]): Promise<readonly string[]> {
    const store = await stores.open({}, path)
    await append(store, ...stored)
    const messages = await held(store, 'N0CALL', since)
    await store.close()
    return messages
  }

  /** Stores a message, and returns what a phone with this cursor then receives. */
  const afterwards = (cursor: number, path?: string) => messagesOf(path, cursor, 'after')

  // Shows: sidecar O1.15.
  it('a restore leaves the backup and the replaced database unchanged', async () => {
    await storeAndBackup()
    const bytesBefore = await readFile(backup())
    const { keptPath, stations, messages } = await restore()
    expect({ stations, messages }).to.deep.equal({ stations: 1, messages: 1 })
    expect(await messagesOf()).to.deep.equal(['kept'])
    expect((await readFile(backup())).equals(bytesBefore)).to.equal(true)
    expect((await stat(stores.path())).mode & 0o777).to.equal(0o600)
    // The database that the first restore kept is now the backup.
    await stores.clock.advance(1000)
    await restore(keptPath)
    expect(await messagesOf()).to.deep.equal(['kept', 'later'])
  })

  // Shows: sidecar O1.16.
  it('stamps after a restore are newer than all stamps that were issued before it', async () => {
    const cursor = await storeAndBackup()
    await restore()
    expect(await afterwards(cursor)).to.deep.equal(['after'])
  })

  // Shows: sidecar O1.16.
  it('phones get new messages after a restore even if the clock was set back', async () => {
    const store = await stores.openWith('N0CALL')
    await store.backUp(backup(), running)
    stores.clock.set(Date.UTC(2030, 0, 1))
    await append(store, 'in 2030')
    const { answerStamp } = await newer(store, 'N0CALL')
    await store.close()
    stores.clock.set(Date.UTC(2026, 0, 2))
    await restore()
    expect(await afterwards(answerStamp)).to.deep.equal(['after'])
  })

  // Shows: sidecar O1.16.
  it('phones get new messages after a restore even if the old database is damaged', async () => {
    const cursor = await storeAndBackup()
    await writeFile(stores.path(), 'no database any more')
    await writeFile(`${stores.path()}-wal`, 'nor this a log')
    const { keptPath } = await restore()
    expect(await readFile(keptPath ?? '', 'utf8')).to.equal('no database any more')
    expect(await readFile(`${keptPath}-wal`, 'utf8')).to.equal('nor this a log')
    expect(await afterwards(cursor)).to.deep.equal(['after'])
    await restoreDatabase(backup(), stores.path('elsewhere.sqlite'), stores.clock.now())
    expect(await afterwards(cursor, stores.path('elsewhere.sqlite'))).to.deep.equal(['after'])
  })

  // Shows: sidecar O1.15.
  it('a restore is refused while a sidecar has the database open, and changes nothing', async () => {
    await storeAndBackup()
    const store = await stores.open()
    expect((await rejection(restore())).code).to.equal('database_locked')
    await append(store, message('still there', { seqId: '4' }))
    await store.close()
    expect(await messagesOf()).to.deep.equal(['kept', 'later', 'still there'])
  })

  it('a restore keeps messages that the replaced database had only in its WAL file', async () => {
    const store = await stores.openWith('N0CALL')
    await store.backUp(backup(), running)
    await append(store, 'in the log')
    await mkdir(stores.path('crashed'))
    for (const suffix of ['', '-wal'])
      await copyFile(stores.path() + suffix, stores.path('crashed/store.sqlite') + suffix)
    const { keptPath } = await restoreDatabase(backup(), stores.path('crashed/store.sqlite'), stores.clock.now())
    expect(await messagesOf(keptPath)).to.deep.equal(['in the log'])
  })

  // Shows: sidecar C13.15.
  it('a restore keeps the WAL file of a database file that is missing', async () => {
    const store = await stores.openWith('N0CALL')
    await append(store, 'in the backup')
    await store.backUp(backup(), running)
    await append(store, message('in the log', { seqId: '2' }))
    const place = stores.path('gone.sqlite')
    await copyFile(`${stores.path()}-wal`, `${place}-wal`)
    await restoreDatabase(backup(), place, stores.clock.now())
    expect(await messagesOf(place)).to.deep.equal(['in the backup'])
    const beside = await readdir(dirname(place))
    expect(beside.filter((name) => /^gone\.sqlite\.before-restore-\w+-wal$/.test(name))).to.have.length(1)
  })

  it('a restore to a symbolic link replaces its target, not the link', async () => {
    await storeAndBackup()
    await symlink(stores.path(), stores.path('link.sqlite'))
    const { keptPath } = await restoreDatabase(backup(), stores.path('link.sqlite'), stores.clock.now())
    expect(keptPath).to.match(/store\.sqlite\.before-restore-/)
    expect(await messagesOf()).to.deep.equal(['kept'])
  })

  it('a restore creates a missing database folder, but only for a valid backup', async () => {
    await storeAndBackup()
    const place = stores.path('new/machine/store.sqlite')
    await rejection(restoreDatabase(stores.path('nowhere'), place, stores.clock.now()))
    await writeFile(stores.path('text'), 'no database')
    await rejection(restoreDatabase(stores.path('text'), place, stores.clock.now()))
    expect(await readdir(stores.path('.'))).to.not.include('new')
    await restoreDatabase(backup(), place, stores.clock.now())
    expect((await stat(dirname(place))).mode & 0o777).to.equal(0o700)
    expect(await messagesOf(place)).to.deep.equal(['kept'])
  })

  const isRoot = process.getuid?.() === 0
  const asRoot = isRoot ? it : it.skip
  const unless = isRoot ? '' : ' (skipped: only root may give files away)'
  asRoot(`a restored database has the owner of the old one, or else of its folder${unless}`, async () => {
    await storeAndBackup()
    const owners = async (name: string) => {
      const { uid, gid } = await stat(stores.path(name))
      return [uid, gid]
    }
    await chown(stores.path(), 12_345, 23_456)
    await restore()
    expect(await owners('store.sqlite')).to.deep.equal([12_345, 23_456])
    await mkdir(stores.path('theirs'))
    await chown(stores.path('theirs'), 12_346, 23_457)
    for (const [place, input] of [
      ['theirs/store.sqlite', 'theirs/store.sqlite'],
      ['theirs/new/store.sqlite', 'theirs/new'],
    ] as const) {
      await restoreDatabase(backup(), stores.path(place), stores.clock.now())
      expect(await owners(input)).to.deep.equal([12_346, 23_457])
    }
  })

  describe('A restore that is refused', () => {
    const fileMadeBy = async (make: (path: string) => Promise<unknown>) => {
      await copyFile(backup(), stores.path('copy'))
      await make(stores.path('copy'))
      return stores.path('copy')
    }
    const sources: readonly (readonly [string, string | undefined, () => Promise<string> | string])[] = [
      ['a backup that is not there', undefined, () => stores.path('nowhere')],
      ['a folder', undefined, () => stores.path('.')],
      ['the database itself', undefined, () => stores.path()],
      ['an empty file', 'database_foreign', () => fileMadeBy(truncate)],
      ...BROKEN_FILES.map(([what, code, make]) => [`a backup that is ${what}`, code, () => fileMadeBy(make)] as const),
    ]
    for (const [caseName, code, make] of sources) {
      // Shows: sidecar O1.15.
      it(`a restore is refused for ${caseName}, and changes nothing`, async () => {
        await storeAndBackup()
        const error = await rejection(restore(await make()))
        expect(error.code).to.equal(code)
        expect(error.remedy).to.be.a('string')
        if (code) expect(error.message).to.match(/^The backup .* (is|was) /)
        expect((await readdir(stores.path('.'))).filter((name) => /restor/.test(name))).to.deep.equal([])
        expect(await messagesOf()).to.deep.equal(['kept', 'later'])
      })
    }

    it('a restore is refused if it would replace the database of another program', async () => {
      await storeAndBackup()
      const cookies = stores.path('cookies.sqlite')
      await foreign(cookies)
      const error = await rejection(restoreDatabase(backup(), cookies, stores.clock.now()))
      expect(error.code).to.equal('database_foreign')
      const second = await connect(cookies, 0)
      expect(await second.all('SELECT name FROM cookie')).to.deep.equal([])
      await second.close()
    })

    it('a restore is refused if the database is in memory', async () => {
      await storeAndBackup()
      expect((await rejection(restoreDatabase(backup(), ':memory:', 0))).message).to.include('in memory')
    })
  })
})
