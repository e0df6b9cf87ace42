import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Settings } from '../../../../sidecar/config/settings.ts'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import { openVapidKeys } from '../../../../sidecar/push/web-push/vapid-file.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { rejection } from '../../store/sqlite/temporary-stores.ts'

const SUBJECT = 'mailto:operator@example.org'

describe('The VAPID keys of Web Push', () => {
  const folder = temporaryFolder()
  const { log, lines, shown } = recordedLog()
  const events = () => shown('level', 'event')
  const settingsFor = (webpush: object, database = 'data/sidecar.sqlite') =>
    settingsOf({ database, push: { webpush } }, folder.path())
  const open = (webpush: object = { subject: SUBJECT }, database?: string) =>
    openVapidKeys(settingsFor(webpush, database), log)

  const refusal = (settings: Settings) => rejection(openVapidKeys(settings, log))

  // Shows: sidecar C14.12.
  it('creates VAPID keys once, beside the database and readable by the owner only', async () => {
    const created = await open()
    const file = folder.path('data/sidecar.sqlite.vapid.json')
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(await readdir(folder.path('data'))).to.deep.equal(['sidecar.sqlite.vapid.json'])
    expect(await open()).to.deep.equal(created)
    expect(events()).to.deep.equal([['info', 'webpush-keys-made']])
    expect(JSON.stringify(lines)).to.not.include(created?.privateKey)
  })

  it('creates no VAPID keys while Web Push is off', async () => {
    expect(await open({})).to.equal(undefined)
    expect(await readdir(folder.path())).to.deep.equal([])
  })

  it('reads the VAPID keys from the configured file', async () => {
    const keys = makeVapidKeys()
    await writeFile(folder.path('keys.json'), JSON.stringify(keys))
    expect(await open({ subject: SUBJECT, keyFile: 'keys.json' }, ':memory:')).to.deep.equal(keys)
    expect(events()).to.deep.equal([])
  })

  it('creates new VAPID keys at each start with a database in memory, and warns', async () => {
    const inMemory = () => open({ subject: SUBJECT }, ':memory:')
    expect(await inMemory()).to.not.deep.equal(await inMemory())
    expect(events()).to.deep.equal(Array(2).fill(['warn', 'webpush-keys-not-kept']))
  })

  // Shows: sidecar C14.12.
  it('refuses a damaged VAPID key file with a remedy, and never replaces it', async () => {
    const text = JSON.stringify(makeVapidKeys()).slice(0, 60)
    // Reads the settings before it damages the file, because the check of the configuration would find the same.
    const settings = settingsFor({ subject: SUBJECT, keyFile: 'keys.json' })
    await writeFile(folder.path('keys.json'), text)
    const { message, remedy } = await refusal(settings)
    expect(message).to.include('keys.json has no VAPID keys, or is damaged')
    expect(remedy).to.include('Restore it from a backup')
    expect(`${message} ${remedy}`).to.not.include(text.slice(20, 60))
    expect(await readFile(folder.path('keys.json'), 'utf8')).to.equal(text)
  })

  it('creates VAPID keys if an earlier start was killed while writing them', async () => {
    await mkdir(folder.path('data'))
    await writeFile(folder.path('data/sidecar.sqlite.vapid.json.new'), '{"publicKey":"')
    const created = await open()
    expect(await open()).to.deep.equal(created)
  })

  it('reports a VAPID key file that cannot be read or written', async () => {
    const settings = settingsFor({ subject: SUBJECT, keyFile: 'gone/keys.json' })
    await writeFile(folder.path('gone'), '')
    expect((await refusal(settings)).message).to.match(/keys\.json cannot be read \(ENOTDIR\)/)
    await rm(folder.path('gone'))
    await mkdir(folder.path('gone/keys.json.new'), { recursive: true })
    expect((await refusal(settings)).message).to.match(/keys\.json cannot be written \(EISDIR\)/)
  })

  it('a start that cannot write the VAPID key file fails, and leaves no partial file', async function () {
    if (process.platform !== 'linux') {
      console.log('      skipped: this needs /proc and /dev/full')
      this.skip()
    }
    const nowhere = settingsFor({ subject: SUBJECT, keyFile: '/proc/nope/keys.json' })
    expect((await refusal(nowhere)).message).to.match(/keys\.json cannot be written \(ENOENT\)/)
    await symlink('/dev/full', folder.path('keys.json.new'))
    const full = settingsFor({ subject: SUBJECT, keyFile: 'keys.json' })
    expect((await refusal(full)).message).to.match(/keys\.json cannot be written \(ENOSPC\)/)
    expect(await readdir(folder.path())).to.deep.equal([])
  })
})
