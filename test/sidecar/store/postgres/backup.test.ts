import { chown, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import { VAPID_KEYS } from '../../../../sidecar/messages/keyring.ts'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { createMetrics } from '../../../../sidecar/metrics.ts'
import { moveDatabase } from '../../../../sidecar/operator/commands/move.ts'
import { restoreBackup } from '../../../../sidecar/operator/commands/restore.ts'
import { openBackups } from '../../../../sidecar/operator/housekeeping/backups.ts'
import { settingsOf } from '../../../support/settings-of.ts'
import {
  append,
  held,
  message,
  newer,
  register,
  registration,
  rejection,
  shownBy,
  temporaryStores,
} from '../sqlite/temporary-stores.ts'
import { postgresStores } from './postgres-stores.ts'

const NOBODY = 65_534
const ROOM = { android: 1000, ios: 1000, webpush: 1000 }
/** More than a page of them. */
const MANY = Array.from({ length: 120 }, (_, index) => `K${index}AB`)

describe('A backup of PostgreSQL', () => {
  const stores = postgresStores()
  const files = temporaryStores()
  const running = new AbortController().signal
  const backup = () => files.path('backup.sqlite')

  const settingsFor = (database: string) => settingsOf({ database, push: { webpush: { subject: 'mailto:a@b.test' } } })

  /** With everything that there can be in it. */
  async function filled(): Promise<Store> {
    const store = await stores.open()
    await register(store, ...MANY)
    const avatar = { icon: 'cat', image: 'QUJD', hash: 'abc' }
    await store.stations.register(registration('N0CALL-1', { platform: 'ios', ackMessages: true, avatar }))
    await store.stations.register(registration('N0CALL-2', { platform: 'webpush', avatar }))
    await store.stations.register(
      registration('N0CALL-2', { platform: 'webpush', avatar: { icon: '', image: '', hash: '' } }),
    )
    await store.stations.markTokenDead('K0AB', 'token-of-K0AB')
    const sent = ['N0CALL-1', ...MANY].map((to) =>
      message('', { to, seqId: 'é\0', text: Buffer.from('\xff\x00', 'latin1') }),
    )
    await append(store, ...sent)
    await stores.clock.advance(2000)
    for (const claim of await store.pushes.claim(ROOM))
      if (claim.station.key !== 'N0CALL-1') await store.pushes.settle(claim)
    return store
  }

  it('is a database file with all that there was, for a sidecar on one machine', async () => {
    const store = await filled()
    const keys = JSON.stringify(makeVapidKeys())
    await store.keyring?.settle(VAPID_KEYS, keys)
    const bytes = await store.backUp(backup(), running)
    expect((await stat(backup())).size).to.equal(bytes)
    for (const name of ['', '.vapid.json']) expect((await stat(backup() + name)).mode & 0o777).to.equal(0o600)
    const { serverTime } = await newer(store, 'N0CALL-1')
    const before = await shownBy(store)

    // The folder of a service, in which an administrator restores.
    const isRoot = process.getuid?.() === 0
    if (isRoot) await chown(dirname(files.path()), NOBODY, NOBODY)
    const report = await restoreBackup(backup(), settingsFor(files.path()))
    const [database, itsKeys] = [await stat(files.path()), await stat(`${files.path()}.vapid.json`)]
    if (isRoot) expect([database.uid, itsKeys.uid, itsKeys.gid]).to.deep.equal([NOBODY, NOBODY, NOBODY])
    expect(itsKeys.mode & 0o777).to.equal(0o600)
    expect(report.lines.join('\n')).to.include('stations 122, messages 121')
    expect(JSON.parse(await readFile(`${files.path()}.vapid.json`, 'utf8'))).to.deep.equal(JSON.parse(keys))
    const file = await files.open()
    expect(await shownBy(file)).to.deep.equal(before)
    const due = await file.pushes.claim(ROOM)
    expect(due.map(({ station }) => station.key)).to.deep.equal(['N0CALL-1'])
    await append(file, message('after', { to: 'N0CALL-1' }))
    expect(await held(file, 'N0CALL-1', serverTime)).to.deep.equal(['after'])
  })

  it('is gone back to by a move into an empty database', async () => {
    const store = await filled()
    const before = await shownBy(store)
    await store.backUp(backup(), running)
    await store.close()
    const refusal = await restoreBackup(backup(), settingsFor(stores.address))
    expect(refusal.done).to.equal(false)
    expect(refusal.lines.join('\n')).to.include('--move-to')
    await stores.wipe()
    const { done, lines } = await moveDatabase(stores.address, settingsFor(backup()))
    expect(lines.join('\n')).to.include('stations 122')
    expect(done).to.equal(true)
    expect(await shownBy(await stores.open())).to.deep.equal(before)
  })

  it('shows one moment, however much is stored meanwhile', async () => {
    const store = await filled()
    let over = false
    const storing = (async () => {
      for (let number = 0; !over; number += 1)
        await append(store, ...MANY.slice(0, 40).map((to) => message(`m${number}`, { to, seqId: `${number % 1000}` })))
    })()
    await store.backUp(backup(), running)
    over = true
    await storing
    const there = await Promise.all(MANY.map(async (key) => (await newer(store, key)).messages))
    const file = await files.open({}, backup())
    const stamps = await Promise.all(MANY.map(async (key) => (await newer(file, key)).messages.map(({ time }) => time)))
    const newest = Math.max(...stamps.flat())
    // Of what is still there, all up to the newest that the copy has, and nothing of what came later.
    const expected = there.flatMap((messages) => messages.map(({ time }) => time)).filter((time) => time <= newest)
    expect(stamps.flat()).to.include.members(expected)
    expect(await file.serverTime.issue()).to.be.above(newest)
  })

  it('leaves nothing where it is broken off', async () => {
    const store = await filled()
    await rejection(store.backUp(backup(), AbortSignal.abort()))
    expect(await readdir(dirname(backup()))).to.deep.equal([])
    await writeFile(files.path('file'), '')
    expect((await rejection(store.backUp(files.path('file/backup.sqlite'), running))).code).to.equal(
      'database_not_writable',
    )
  })

  it('is made by one instance at a time, of all that share the database', async () => {
    const opened = await Promise.all(['a', 'b'].map((instance) => stores.open({ instance })))
    const backups = await Promise.all(
      opened.map((store, index) =>
        openBackups({
          store,
          settings: { folder: files.path(`backups-${index}`), keep: 3 },
          callsign: 'N0CALL',
          clock: stores.clock,
          metrics: createMetrics(),
          log: files.log,
        }),
      ),
    )
    const outcomes = await Promise.all(backups.map(({ make }) => make()))
    expect(outcomes.map(({ kind }) => kind)).to.have.members(['made', 'busy'])
    await Promise.all(backups.map(({ close }) => close()))
  })
})
