import { expect } from 'chai'
import type { Members, MeshDatabase } from '../../../../plugin/meshcentral/server.ts'
import { RevokedSessions } from '../../../../plugin/meshcentral/sessions/revoked-sessions.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { messageOf } from '../../../support/message-of.ts'
import { until } from '../../../support/until.ts'
import { databaseOf } from '../stand-in.ts'

const HALF_A_DAY_MS = 12 * 60 * 60_000

describe('revoked sessions in the database of MeshCentral', () => {
  const opened: { close(): void }[] = []
  const open = (db: MeshDatabase, clock = new FakeClock(1_000)) => {
    const revocations = new RevokedSessions(db, clock)
    opened.push(revocations)
    return revocations
  }
  afterEach(() => {
    for (const store of opened.splice(0)) store.close()
  })

  it('revocations are read from the database after a restart', async () => {
    const rows = new Map<string, Members>()
    await open(databaseOf(rows)).revoke(['a', 'b'], 900, 5_000)
    const restarted = open(databaseOf(rows))
    expect(await restarted.endedAt(['b'])).to.equal(900)
    expect(await restarted.endedAt(['c'])).to.equal(undefined)
    expect(restarted.latest(['a'])).to.equal(900)
  })

  it('all sealed cookies are refused until the revocations are read from the database', async () => {
    const revocations = open(databaseOf())
    expect(revocations.latest(['a'])).to.equal(Number.POSITIVE_INFINITY)
    expect(await revocations.endedAt(['a'])).to.equal(undefined)
    expect(revocations.latest(['a'])).to.equal(undefined)
  })

  it('a revoked session is refused while its revocation is being written', async () => {
    const revocations = open(databaseOf())
    await revocations.endedAt([])
    const written = revocations.revoke(['a'], 900, 5_000)
    expect(await revocations.endedAt(['a'])).to.equal(900)
    await written
  })

  it('expired revocations are deleted only after the clock was steady for half a day', async () => {
    const rows = new Map<string, Members>()
    const clock = new FakeClock(1_000)
    const revocations = open(databaseOf(rows), clock)
    await revocations.revoke(['a'], 900, HALF_A_DAY_MS)
    await revocations.revoke(['b'], 900, HALF_A_DAY_MS + 1_001)
    await clock.advance(HALF_A_DAY_MS - 1)
    expect(rows.size).to.equal(2)
    await clock.advance(1)
    expect(await revocations.endedAt(['a'])).to.equal(undefined)
    expect(await revocations.endedAt(['b'])).to.equal(900)
    expect(rows.size).to.equal(1)
  })

  it('a full list of revocations forgets expired revocations first, then the oldest', async () => {
    const MOST = 50_000
    const rows = new Map<string, Members>()
    const _id = (name: string | number) => `meshcompanion/ended/${name}`
    for (let n = 0; n < MOST; n += 1) {
      rows.set(_id(n), { _id: _id(n), type: 'meshcompanion', endedAt: n, until: n === 7 || n === 8 ? 900 : 5_000 })
    }
    const revocations = open(databaseOf(rows))
    await revocations.revoke(['new'], 900, 5_000)
    expect(rows.has(_id(7))).to.equal(false)
    expect(rows.has(_id(8))).to.equal(true)
    expect(rows.size).to.deep.equal(MOST)
    await revocations.revoke(['newer'], 900, 5_000)
    expect(rows.has(_id(8))).to.equal(false)
    expect(rows.size).to.deep.equal(MOST)
    expect(revocations.latest(['whatever'])).to.equal(undefined)
    await revocations.revoke(['newest'], 900, 5_000)
    expect(rows.has(_id(0))).to.equal(false)
    expect(rows.size).to.be.at.most(MOST)
    expect(revocations.latest(['whatever'])).to.be.within(0, 2)
  })

  it('a revocation applies even if the database cannot store it; failures are reported', async () => {
    const broken = {
      ...databaseOf(),
      GetAllType: (_type: string, done: (error: unknown, rows: null) => void) => done('no', null),
    }
    expect(await messageOf(open(broken).endedAt(['a']))).to.match(/could not read revoked sessions/)
    const full: MeshDatabase = { ...databaseOf(), Set: (_row, done) => done?.(new Error('disk full')) }
    const revocations = open(full)
    expect(await messageOf(revocations.revoke(['a'], 900, 5_000))).to.match(/could not write/)
    expect(await revocations.endedAt(['a'])).to.equal(900)
  })

  it('a revocation is written again until the database stores it', async () => {
    const rows = new Map<string, Members>()
    const db = databaseOf(rows)
    const { Set: write } = db
    let tries = 0
    db.Set = (row, done) => {
      tries += 1
      if (tries <= 4) return void done?.(new Error('disk full'))
      write(row, done)
    }
    const clock = new FakeClock(1_000)
    const revocations = open(db, clock)
    await revocations.revoke(['a', 'b'], 800, 5_000).catch(() => undefined)
    await revocations.revoke(['b'], 900, 5_000).catch(() => undefined)
    await clock.advance(4_999)
    expect(tries).to.equal(3)
    await clock.advance(5_001)
    await until('both records', () => rows.size >= 2)
    expect(await open(databaseOf(rows)).endedAt(['a'])).to.equal(800)
    expect(await open(databaseOf(rows)).endedAt(['b'])).to.equal(900)
    expect(tries).to.equal(6)
  })
})
