import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { createMetrics, type Metrics } from '../../../../sidecar/metrics.ts'
import { type Backups, openBackups } from '../../../../sidecar/operator/housekeeping/backups.ts'
import { deferred } from '../../../support/deferred.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { rejection } from '../../store/sqlite/temporary-stores.ts'

const HOUR_MS = 3_600_000
const nameAt = (ms: number) => `mesh-companion-N0CALL-10-${new Date(ms).toISOString().replace(/[-:.]/g, '')}.sqlite`
// Backups run at night by local time. From noon, no night comes within a few hours in any time zone.
const NOON = new Date(2026, 0, 1, 12).getTime()
const NAME = nameAt(NOON)

describe('The backups', () => {
  const folder = temporaryFolder()
  const { log, lines } = recordedLog()
  let clock: FakeClock
  let metrics: Metrics
  let backups: Backups
  let write: (path: string, signal: AbortSignal) => Promise<number>

  beforeEach(() => {
    clock = new FakeClock(NOON)
    metrics = createMetrics()
    write = async (path) => {
      await writeFile(path, 'copy')
      return 4
    }
  })
  afterEach(() => backups.close())

  async function open(changes: { folder?: string | null; keep?: number } = {}): Promise<Backups> {
    backups = await openBackups({
      backUp: (path, signal) => write(path, signal),
      settings: { folder: folder.path('backups'), keep: 3, ...changes },
      callsign: 'N0CALL-10',
      clock,
      metrics,
      log,
    })
    return backups
  }
  const files = () => readdir(folder.path('backups'))

  it('a backup is named after callsign and time, in a folder that it creates', async () => {
    const opened = await open()
    expect(opened.lastMadeAt()).to.equal(undefined)
    expect(await opened.make()).to.deep.equal({ kind: 'made', file: NAME, bytes: 4 })
    expect(await files()).to.deep.equal([NAME])
    expect(opened.lastMadeAt()).to.equal(clock.now())
    expect(metrics.value('backups_made')).to.equal(1)
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ event: 'backup-made', file: NAME, bytes: 4 })
  })

  // Shows: sidecar O1.13.
  it('a backup is made every night by local time, until the sidecar closes', async () => {
    await open()
    // Real writing may take several of these simulated days. The backups of such days are skipped, and one more backup
    // may be made at the end.
    while (metrics.value('backups_made') < 2) await clock.advance(HOUR_MS)
    const digits = /^.*-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.sqlite$/
    const times = (await files()).map((name) => new Date(name.replace(digits, '$1-$2-$3T$4:$5:$6.$7Z')))
    expect(new Set(times.map((index) => `${index.getHours()}:${index.getMinutes()}`))).to.deep.equal(new Set(['3:43']))
    expect(new Set(times.map((index) => index.toDateString())).size)
      .to.equal(times.length)
      .and.to.be.within(2, 3)
    await backups.close()
    expect(clock.pending).to.equal(0)
  })

  // Shows: sidecar O1.14.
  it('deletes old backups but no file with another name', async () => {
    await open({ keep: 2 })
    const rest = [
      'mesh-companion-N0CALL-11-20250101T000000000Z.sqlite',
      'mesh-companion-N0CALL-10-20250101T000000000Z.sqlite.gz',
      'mesh-companion-N0CALL-10-keep.sqlite',
      'notes.txt',
    ]
    for (const fileName of rest) await writeFile(folder.path(`backups/${fileName}`), '')
    for (let created = 0; created < 4; created++) {
      await backups.make()
      await clock.advance(1)
    }
    const ownPart = (await files()).filter((name) => !rest.includes(name))
    expect(ownPart.sort()).to.deep.equal([NAME.replace('000Z', '002Z'), NAME.replace('000Z', '003Z')])
    expect((await files()).length).to.equal(ownPart.length + rest.length)
  })

  it('keeps the newest backups even if older backups are dated in the future', async () => {
    const opened = await open({ keep: 3 })
    const right = clock.now()
    clock.set(Date.UTC(2040, 0))
    for (let round = 0; round < 3; round++) {
      await opened.make()
      await clock.advance(1)
    }
    clock.set(right)
    expect(opened.lastMadeAt()).to.equal(undefined)
    for (let round = 0; round < 3; round++) {
      await opened.make()
      expect(opened.lastMadeAt()).to.equal(clock.now())
      await clock.advance(HOUR_MS)
    }
    expect((await files()).sort()).to.deep.equal([NAME, nameAt(NOON + HOUR_MS), nameAt(NOON + 2 * HOUR_MS)])
    await backups.close()
    expect((await open()).lastMadeAt()).to.equal(right + 2 * HOUR_MS)
  })

  // Shows: sidecar O1.13.
  it('refuses a second backup while a backup is running', async () => {
    const opened = await open()
    const [first, second] = await Promise.all([opened.make(), opened.make()])
    expect(first.kind).to.equal('made')
    expect(second.kind).to.equal('busy')
    await clock.advance(1)
    expect((await opened.make()).kind).to.equal('made')
  })

  it('reports a failed backup, keeps earlier backups, and makes the next backup', async () => {
    const opened = await open({ keep: 1 })
    await opened.make()
    const madeAt = opened.lastMadeAt()
    const works = write
    write = () => Promise.reject(Object.assign(new Error('There is no space left.'), { code: 'disk_full' }))
    await clock.advance(HOUR_MS)
    const message = 'There is no space left in backup.folder.'
    expect(await opened.make()).to.deep.equal({ kind: 'failed', code: 'disk_full', message })
    expect(opened.lastMadeAt()).to.deep.equal(madeAt)
    expect(metrics.value('backups_failed')).to.equal(1)
    expect(await files()).to.deep.equal([NAME])
    expect(lines.at(-1)).to.include({ event: 'backup-failed', level: 'error' })
    write = works
    expect((await opened.make()).kind).to.equal('made')
  })

  it('removes the partial backup that a crash left behind', async () => {
    await open()
    const partFile = folder.path(`backups/${NAME}.part`)
    for (const name of [partFile, `${partFile}-journal`]) await writeFile(name, 'half')
    await clock.advance(HOUR_MS)
    await backups.make()
    expect(await files()).to.deep.equal([nameAt(NOON + HOUR_MS)])
  })

  it('makes no backups if no folder is configured, and refuses an unusable folder', async () => {
    const opened = await open({ folder: null })
    expect(await opened.make()).to.deep.equal({ kind: 'off' })
    await mkdir(folder.path('a'))
    await writeFile(folder.path('a/file'), '')
    for (const place of ['a/file', 'a/file/b', 'nowhere/b']) {
      expect(await rejection(open({ folder: folder.path(place) })), place).to.have.property('remedy')
    }
  })

  it('closing the sidecar stops a running backup', async () => {
    const opened = await open()
    const begun = deferred()
    write = (_path, signal) => {
      begun.resolve()
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const stopped = opened.make()
    await begun.promise
    await Promise.all([opened.close(), opened.close()])
    expect((await stopped).kind).to.equal('failed')
    expect(lines).to.deep.equal([])
    expect((await opened.make()).kind).to.equal('busy')
  })
})
