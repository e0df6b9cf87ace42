import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import { VAPID_KEYS } from '../../../../sidecar/messages/keyring.ts'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { type MoveReport, moveDatabase } from '../../../../sidecar/operator/commands/move.ts'
import { connectPostgres } from '../../../../sidecar/store/postgres/database/connection.ts'
import { fillDatabase } from '../../../../sidecar/store/postgres/fill-database.ts'
import { openFileContents } from '../../../../sidecar/store/sqlite/copies/file-contents.ts'
import { connect } from '../../../../sidecar/store/sqlite/database/connection.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { TYPESCRIPT } from '../../../support/typescript/options.ts'
import { postgresStores } from '../../store/postgres/postgres-stores.ts'
import { runAt } from '../../store/postgres/shared-server.ts'
import {
  append,
  held,
  kindsOf,
  message,
  newer,
  register,
  registration,
  rejection,
  SETTINGS,
  shownBy,
  temporaryStores,
} from '../../store/sqlite/temporary-stores.ts'

const SECRET = 'h0rse-battery'
const ROOM = { android: 1000, ios: 1000, webpush: 1000 }
/** More stations than the move reads at once. */
const MANY = Array.from({ length: 120 }, (_, index) => `K${index}AB`)

describe('The move of a database file to PostgreSQL', () => {
  const files = temporaryStores()
  const postgres = postgresStores()

  /** With a password, although the server requires none. */
  const target = () => postgres.address.replace('mesh@', `mesh:${SECRET}@`)

  async function move(to = target(), database = files.path()): Promise<MoveReport> {
    const report = await moveDatabase(to, settingsOf({ database, history: { perStation: 3 } }))
    expect(report.lines.join('\n')).to.not.include(SECRET)
    return report
  }

  const history = { ...SETTINGS.history, perStation: 3 }
  const openFile = () => files.open({ history })
  const openMoved = () => postgres.open({ history })

  const stationsThere = async () =>
    (await runAt(postgres.address, 'SELECT count(*)::int AS count FROM mesh_companion.station'))[0]?.count

  async function refused(report: Promise<MoveReport>): Promise<string> {
    const { done, lines } = await report
    expect(done).to.equal(false)
    expect(lines).to.have.length(1)
    expect(lines[0]).to.match(/^Nothing was moved\. /)
    return lines[0] ?? ''
  }

  /** A closed file with one station and one message. */
  async function smallFile(): Promise<void> {
    const store = await files.open()
    await register(store, 'N0CALL')
    await append(store, 'kept')
    await store.close()
  }

  it("--move-to names the sidecar's settings that are invalid with PostgreSQL", async () => {
    await smallFile()
    const settings = settingsOf({ database: files.path(), backup: { folder: 'backups' }, stations: { max: 100_000 } })
    const { done, lines } = await moveDatabase(target(), settings)
    expect(done).to.equal(true)
    const output = lines.join('\n')
    expect(output).to.match(/^backup\.folder works with a SQLite file only\. Set it to null/m)
    expect(output).to.match(/^stations\.max is above \d+/m)
    expect(lines.at(-1)).to.equal('Then start the sidecar.')
  })

  // Shows: sidecar P1.2, C16.13.
  it('--move-to copies all data and pending pushes, and leaves the old file unchanged', async () => {
    const file = await openFile()
    await register(file, ...MANY)
    const icon = { icon: 'cat', image: '', hash: 'icon:cat' }
    const options = { anySsid: true, blocked: ['W2AW'], wantAcks: true }
    await file.stations.register(
      registration('N0CALL-1', { platform: 'ios', ackMessages: true, options, avatar: icon }),
    )
    await file.stations.register(registration('N0CALL-1', { deviceId: 'tablet', pushToken: 'of the tablet' }))
    await file.stations.register(registration('N0CALL-2', { platform: 'webpush', avatar: icon }))
    await file.stations.register(
      registration('N0CALL-2', { platform: 'webpush', avatar: { icon: '', image: '', hash: '' } }),
    )
    await file.stations.register(registration('N0CALL-3', { avatar: { icon: '', image: 'QUJD', hash: 'abc' } }))
    await file.stations.markTokenDead('N0CALL-3', '', 'token-of-N0CALL-3')
    for (const to of ['N0CALL-1', 'N0CALL-2', ...MANY])
      await append(file, message('één', { to, text: Buffer.from('\xff\x00', 'latin1') }))
    await append(file, ...[2, 3, 4].map((number) => message(`m${number}`, { to: 'N0CALL-1', seqId: `${number}` })))
    await append(file, message('other SSID', { to: 'N0CALL-9', ring: 'N0CALL-1' }))
    await file.receivedAcks.append([{ from: 'W1AW', to: 'N0CALL-1', seqId: '1', kind: 'rej' }])
    await files.clock.advance(2000)
    // Settle the notifications of all stations except N0CALL-1.
    const result = { at: files.clock.now(), outcome: 'unauthorized', reason: 'wrong key' } as const
    for (const claim of await file.pushes.claim(ROOM))
      if (claim.station !== 'N0CALL-1') await file.pushes.settle(claim, result)
    await file.history.append([message('acknowledged', { to: 'N0CALL-1', seqId: '5' })], true)
    const earlier = await shownBy(file)
    const reports = ({ reports: { get } }: Store) => Promise.all(['N0CALL-1', 'N0CALL-2', 'N0CALL-3'].map(get))
    const earlierReports = await reports(file)
    await file.close()
    const keys = JSON.stringify(makeVapidKeys())
    await writeFile(`${files.path()}.vapid.json`, keys)
    const bytes = await readFile(files.path())

    const { done, lines } = await move()
    expect(lines.join('\n')).to.include('stations 123, devices 124, avatars 3, messages 124, dropped messages 3')
    expect(lines.join('\n')).to.include('The Web Push keys were copied too.')
    expect(done).to.equal(true)
    expect(bytes.equals(await readFile(files.path()))).to.equal(true)
    const moved = await openMoved()
    expect(await shownBy(moved)).to.deep.equal(earlier)
    expect(await reports(moved)).to.deep.equal(earlierReports)
    expect(earlierReports[1]?.devices[0]?.lastPush).to.deep.equal(result)
    expect(earlierReports[0]?.messages[0]?.ackedAt).to.be.a('number')
    expect(JSON.parse(await moved.keyring.settle(VAPID_KEYS, 'others'))).to.deep.equal(JSON.parse(keys))
    const due = await moved.pushes.claim(ROOM)
    expect(
      due.map(({ device, unpushed }) => [device.pushToken, unpushed.count, unpushed.newest.text.toString()]),
    ).to.have.deep.members([
      ['token-of-N0CALL-1', 3, 'acknowledged'],
      ['of the tablet', 2, 'acknowledged'],
    ])
    // Equal to the number of stations.
    const counted = await runAt(postgres.address, 'SELECT station_count FROM mesh_companion.clock')
    expect(counted).to.deep.equal([{ station_count: 123 }])
    // The operator can return to the file, which is unchanged.
    expect(await shownBy(await openFile())).to.deep.equal(earlier)
  })

  // Shows: sidecar P1.3.
  it('recognizes duplicates after --move-to, even of messages already deleted', async () => {
    const file = await openFile()
    await register(file, 'N0CALL')
    const sent = ['1', '2', '3', '4'].map((seqId) => message(`m${seqId}`, { seqId }))
    await append(file, ...sent)
    await file.close()
    await move()
    const moved = await openMoved()
    const kinds = await kindsOf(moved, ...sent, message('m5', { seqId: '5' }))
    expect(kinds).to.deep.equal([...Array(4).fill('duplicate'), 'stored'])
    expect(await held(moved)).to.deep.equal(['m3', 'm4', 'm5'])
  })

  // Shows: sidecar P1.3.
  it("keeps phones' cursors valid after --move-to, even if the clock was set back", async () => {
    const file = await openFile()
    await register(file, 'N0CALL', 'N1CALL')
    await file.stations.register(registration('N0CALL', { deviceId: 'phone', pushToken: 'another' }))
    files.clock.set(Date.UTC(2030, 0, 1))
    await append(file, 'a', message('b', { to: 'N1CALL' }))
    const { answerStamp } = await newer(file, 'N0CALL', 0, 'phone')
    await newer(file, 'N0CALL', answerStamp, 'phone')
    const newest = await file.stamps.issue()
    await file.close()
    await move()
    const moved = await openMoved()
    expect(await moved.cursors.stampFor('N0CALL', 'phone')).to.be.at.least(answerStamp)
    // The phone has not yet seen a stored message, so its cursor must be older than the message.
    expect(await moved.cursors.stampFor('N1CALL', '')).to.be.below(
      (await newer(moved, 'N1CALL')).messages[0]?.stamp ?? 0,
    )
    await append(moved, message('after', { seqId: '9' }))
    expect(await held(moved, 'N0CALL', newest)).to.deep.equal(['after'])
  })

  // Shows: sidecar P1.4.
  it('--move-to refuses a database that has stations, and changes nothing there', async () => {
    await smallFile()
    expect((await move()).done).to.equal(true)
    expect(await refused(move())).to.include('has stations already (1)')
    expect(await stationsThere()).to.equal(1)
  })

  // Shows: sidecar P1.4.
  it('--move-to refuses to start while a sidecar has the database file open', async () => {
    const store = await files.open()
    await register(store, 'N0CALL')
    expect(await refused(move())).to.include('Another process has opened the database file')
    expect(await stationsThere()).to.equal(0)
  })

  // Shows: sidecar P1.4.
  it('--move-to locks the database file against sidecars while it works', async () => {
    await smallFile()
    const contents = await openFileContents(files.path())
    expect((await rejection(files.open())).code).to.equal('database_locked')
    await contents.close()
    await (await files.open()).close()
  })

  // Shows: sidecar P1.4.
  it('--move-to refuses to start while an instance uses the PostgreSQL database', async () => {
    await smallFile()
    const second = await postgres.open({ instance: 'early' })
    expect(await refused(move())).to.include('These instances use the PostgreSQL database: early.')
    await second.close()
    expect((await move()).done).to.equal(true)
  })

  // Shows: sidecar P1.4.
  it('--move-to leaves nothing behind if it fails, so that it can be repeated', async () => {
    await smallFile()
    const contents = await openFileContents(files.path())
    const remote = { database: postgres.address, databaseTls: { caFile: null } }
    const database = await connectPostgres(remote, postgres.clock, files.log)
    const broken = {
      ...contents,
      // biome-ignore lint/correctness/useYield: it breaks off before there is anything.
      async *dropped() {
        throw new Error('broken off')
      },
    }
    const options = { perStation: 3, vapidKeys: undefined }
    await rejection(fillDatabase(database, broken, options))
    expect(await stationsThere()).to.equal(0)
    const fewer = { ...contents, counts: { ...contents.counts, messages: 2 } }
    expect((await rejection(fillDatabase(database, fewer, options))).message).to.match(
      /messages 2, .* PostgreSQL received .*messages 1,/,
    )
    expect(await stationsThere()).to.equal(0)
    await database.close()
    await contents.close()
    expect((await move()).done).to.equal(true)
  })

  // Shows: sidecar P1.2, C16.13.
  it('--move-to reports success by its exit code, and hides the password', async () => {
    await smallFile()
    const config = files.path('sidecar.json')
    await writeFile(config, JSON.stringify({ aprsis: { callsign: 'N0CALL' }, database: files.path() }))
    const run = (...args: string[]) => {
      const command = [...TYPESCRIPT, 'sidecar/main.ts', '--config', config, ...args]
      const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' })
      expect(stdout + stderr).to.not.include(SECRET)
      return { status, stdout, stderr }
    }
    const moved = run('--move-to', target())
    expect(moved.stdout).to.include(`now has everything from ${files.path()}: stations 1,`)
    const repeated = run('--move-to', target())
    expect(repeated.stderr).to.match(/^Nothing was moved. .* has stations already/)
    expect([moved, repeated, run(target())].map(({ status }) => status)).to.deep.equal([0, 1, 64])
  })

  it('--move-to refuses an unsuitable file or an invalid address with a reason', async () => {
    await smallFile()
    expect(await refused(move('postgres://h0rse-battery'))).to.include('Nothing was moved.')
    expect(await refused(move(`mysql://mesh:${SECRET}@db.example/mesh`))).to.include('--move-to takes postgres://')
    expect(await refused(move(`${target()}?sslmode=${SECRET}`))).to.include('has a parameter')
    expect(await refused(move(target(), files.path('gone.sqlite')))).to.include('gone.sqlite cannot be read (ENOENT)')
    expect(await refused(move(target(), target()))).to.include('is already a PostgreSQL database')
    expect(await refused(move(target(), ':memory:'))).to.include('in memory')
    await writeFile(files.path('other.sqlite'), 'no database')
    expect(await refused(move(target(), files.path('other.sqlite')))).to.include('damaged')
    const connection = await connect(files.path(), 0)
    await connection.exec('PRAGMA user_version = 2')
    await connection.close()
    expect(await refused(move())).to.include('too old to be upgraded')
    await writeFile(`${files.path()}.vapid.json`, '{}')
    expect(await refused(move())).to.include('vapid.json has no VAPID keys')
    expect(await stationsThere()).to.equal(0)
  })
})
