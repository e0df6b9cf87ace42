import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { settingsFrom } from '../../../sidecar/index.ts'
import { createLog } from '../../../sidecar/log.ts'
import { openVapidKeys, VapidKeysError } from '../../../sidecar/push/web-push/vapid-file.ts'
import { makeVapidKeys } from '../../../sidecar/webpush/vapid-keys.ts'

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

  it('are made at the first start, beside the database, readable for nobody else, and stay', async () => {
    const made = open()
    const file = join(folder, 'data/sidecar.sqlite.vapid.json')
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(await readdir(join(folder, 'data'))).to.deep.equal(['sidecar.sqlite.vapid.json'])
    expect(open()).to.deep.equal(made)
    expect(events()).to.deep.equal([['info', 'webpush-keys-made']])
    expect(JSON.stringify(lines)).to.not.include(made?.privateKey)
  })

  it('are not made while Web Push is off', async () => {
    expect(open({})).to.equal(undefined)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('are those of the file that is named', async () => {
    const keys = makeVapidKeys()
    await writeFile(join(folder, 'keys.json'), JSON.stringify(keys))
    expect(open({ subject: SUBJECT, keyFile: 'keys.json' }, ':memory:')).to.deep.equal(keys)
    expect(events()).to.deep.equal([])
  })

  it('are new at each start beside a database in memory, with a warning', () => {
    expect(open({ subject: SUBJECT }, ':memory:')).to.not.deep.equal(open({ subject: SUBJECT }, ':memory:'))
    expect(events()).to.deep.equal(Array(2).fill(['warn', 'webpush-keys-not-kept']))
  })

  it('are never replaced where their file is damaged: that is an error with a remedy', async () => {
    const text = JSON.stringify(makeVapidKeys()).slice(0, 60)
    // Past the check of the configuration, which finds the same.
    const settings = settingsOf({ subject: SUBJECT, keyFile: 'keys.json' })
    await writeFile(join(folder, 'keys.json'), text)
    const opening = () => openVapidKeys(settings, log)
    expect(opening)
      .to.throw(VapidKeysError, 'keys.json has no VAPID keys in it, or is damaged')
      .with.property('remedy')
      .that.includes('Restore it from a backup')
    expect(opening).to.not.throw(text.slice(20, 60))
    expect(await readFile(join(folder, 'keys.json'), 'utf8')).to.equal(text)
  })

  it('are looked for again when a start was killed while it made them', async () => {
    await mkdir(join(folder, 'data'))
    await writeFile(join(folder, 'data/sidecar.sqlite.vapid.json.new'), '{"publicKey":"')
    const made = open()
    expect(open()).to.deep.equal(made)
  })

  it('need a folder that can be written into', async () => {
    const settings = settingsOf({ subject: SUBJECT, keyFile: 'gone/keys.json' })
    await writeFile(join(folder, 'gone'), '')
    expect(() => openVapidKeys(settings, log)).to.throw(VapidKeysError, /keys\.json cannot be read \(ENOTDIR\)/)
    await rm(join(folder, 'gone'))
    await mkdir(join(folder, 'gone/keys.json.new'), { recursive: true })
    expect(() => openVapidKeys(settings, log)).to.throw(VapidKeysError, /keys\.json cannot be written \(EISDIR\)/)
  })
})
