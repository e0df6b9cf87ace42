import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import { type Settings, settingsFrom } from '../../../../sidecar/index.ts'
import { createLog } from '../../../../sidecar/log.ts'
import { openVapidKeys, VapidKeysError } from '../../../../sidecar/push/web-push/vapid-file.ts'

const SUBJECT = 'mailto:operator@example.org'

describe('The keys of Web Push', () => {
  let folder: string
  let lines: Record<string, unknown>[]
  beforeEach(async () => {
    lines = []
    folder = await mkdtemp(join(tmpdir(), 'vapid-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const log = createLog('debug', { write: (line) => lines.push(JSON.parse(line)) })
  const events = () => lines.map(({ level, event }) => [level, event])
  const settingsOf = (webpush: object, database = 'data/sidecar.sqlite') => {
    const outcome = settingsFrom(
      JSON.stringify({ aprsis: { callsign: 'N0CALL' }, database, push: { webpush } }),
      folder,
    )
    if ('problems' in outcome) throw new Error(JSON.stringify(outcome.problems))
    return outcome.settings
  }
  const open = (webpush: object = { subject: SUBJECT }, database?: string) =>
    openVapidKeys(settingsOf(webpush, database), log)

  const refusal = async (settings: Settings): Promise<VapidKeysError> => {
    const error: unknown = await openVapidKeys(settings, log).catch((thrown: unknown) => thrown)
    if (error instanceof VapidKeysError) return error
    throw new Error('They were not refused.')
  }

  it('are made at the first start, beside the database, readable for nobody else, and stay', async () => {
    const made = await open()
    const file = join(folder, 'data/sidecar.sqlite.vapid.json')
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(await readdir(join(folder, 'data'))).to.deep.equal(['sidecar.sqlite.vapid.json'])
    expect(await open()).to.deep.equal(made)
    expect(events()).to.deep.equal([['info', 'webpush-keys-made']])
    expect(JSON.stringify(lines)).to.not.include(made?.privateKey)
  })

  it('are not made while Web Push is off', async () => {
    expect(await open({})).to.equal(undefined)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('are those of the file that is named', async () => {
    const keys = makeVapidKeys()
    await writeFile(join(folder, 'keys.json'), JSON.stringify(keys))
    expect(await open({ subject: SUBJECT, keyFile: 'keys.json' }, ':memory:')).to.deep.equal(keys)
    expect(events()).to.deep.equal([])
  })

  it('are new at each start beside a database in memory, with a warning', async () => {
    const inMemory = () => open({ subject: SUBJECT }, ':memory:')
    expect(await inMemory()).to.not.deep.equal(await inMemory())
    expect(events()).to.deep.equal(Array(2).fill(['warn', 'webpush-keys-not-kept']))
  })

  it('are never replaced where their file is damaged: that is an error with a remedy', async () => {
    const text = JSON.stringify(makeVapidKeys()).slice(0, 60)
    // Past the check of the configuration, which finds the same.
    const settings = settingsOf({ subject: SUBJECT, keyFile: 'keys.json' })
    await writeFile(join(folder, 'keys.json'), text)
    const { message, remedy } = await refusal(settings)
    expect(message).to.include('keys.json has no VAPID keys in it, or is damaged')
    expect(remedy).to.include('Restore it from a backup')
    expect(message + remedy).to.not.include(text.slice(20, 60))
    expect(await readFile(join(folder, 'keys.json'), 'utf8')).to.equal(text)
  })

  it('are looked for again when a start was killed while it made them', async () => {
    await mkdir(join(folder, 'data'))
    await writeFile(join(folder, 'data/sidecar.sqlite.vapid.json.new'), '{"publicKey":"')
    const made = await open()
    expect(await open()).to.deep.equal(made)
  })

  it('need a folder that can be written into', async () => {
    const settings = settingsOf({ subject: SUBJECT, keyFile: 'gone/keys.json' })
    await writeFile(join(folder, 'gone'), '')
    expect((await refusal(settings)).message).to.match(/keys\.json cannot be read \(ENOTDIR\)/)
    await rm(join(folder, 'gone'))
    await mkdir(join(folder, 'gone/keys.json.new'), { recursive: true })
    expect((await refusal(settings)).message).to.match(/keys\.json cannot be written \(EISDIR\)/)
  })

  it('are refused, not tried for ever, where no folder can be made or the disk is full, and nothing half made is left', async function () {
    if (process.platform !== 'linux') {
      console.log('      skipped: this needs /proc and /dev/full')
      this.skip()
    }
    const nowhere = settingsOf({ subject: SUBJECT, keyFile: '/proc/nope/keys.json' })
    expect((await refusal(nowhere)).message).to.match(/keys\.json cannot be written \(ENOENT\)/)
    await symlink('/dev/full', join(folder, 'keys.json.new'))
    const full = settingsOf({ subject: SUBJECT, keyFile: 'keys.json' })
    expect((await refusal(full)).message).to.match(/keys\.json cannot be written \(ENOSPC\)/)
    expect(await readdir(folder)).to.deep.equal([])
  })
})
