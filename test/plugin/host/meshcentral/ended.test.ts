import { expect } from 'chai'
import type { Members, MeshDatabase } from '../../../../plugin/host/meshcentral/server.ts'
import { endedInDatabase } from '../../../../plugin/host/meshcentral/sessions/ended.ts'
import { databaseOf } from './stand-in.ts'

describe('what has ended, in the database of MeshCentral', () => {
  const opened: { close(): void }[] = []
  const open = (db: MeshDatabase, now = () => 1_000) => {
    const ended = endedInDatabase(db, now)
    opened.push(ended)
    return ended
  }
  afterEach(() => {
    for (const one of opened.splice(0)) one.close()
  })

  it('is known after a restart', async () => {
    const rows = new Map<string, Members>()
    await open(databaseOf(rows)).revoke(['a', 'b'], 900, 5_000)
    const after = open(databaseOf(rows))
    expect(await after.endedAt(['b'])).to.equal(900)
    expect(await after.endedAt(['c'])).to.equal(undefined)
    expect(after.latest(['a'])).to.equal(900)
  })

  it('is everything that is sealed, until the database has answered', async () => {
    const ended = open(databaseOf())
    expect(ended.latest(['a'])).to.equal(Number.POSITIVE_INFINITY)
    expect(await ended.endedAt(['a'])).to.equal(undefined)
    expect(ended.latest(['a'])).to.equal(undefined)
  })

  it('is refused while the database is being written', async () => {
    const ended = open(databaseOf())
    await ended.endedAt([])
    const written = ended.revoke(['a'], 900, 5_000)
    expect(await ended.endedAt(['a'])).to.equal(900)
    await written
  })

  it('leaves the database when it has run out', async () => {
    const rows = new Map<string, Members>()
    await open(databaseOf(rows)).revoke(['a'], 900, 5_000)
    expect(rows.size).to.equal(1)
    const later = open(databaseOf(rows), () => 5_000)
    expect(await later.endedAt(['a'])).to.equal(undefined)
    expect(rows.size).to.equal(0)
  })

  it('is unknown to everybody when the database cannot be read, and an ending that is not written is told', async () => {
    const broken = {
      ...databaseOf(),
      GetAllType: (_type: string, done: (error: unknown, rows: null) => void) => done('no', null),
    }
    const message = (work: Promise<unknown>) =>
      work.then(
        () => 'fine',
        (error: Error) => error.message,
      )
    expect(await message(open(broken).endedAt(['a']))).to.match(/could not read which sessions have ended/)
    const full: MeshDatabase = { ...databaseOf(), Set: (_row, done) => done?.(new Error('disk full')) }
    const ended = open(full)
    expect(await message(ended.revoke(['a'], 900, 5_000))).to.match(/could not write/)
    expect(await ended.endedAt(['a'])).to.equal(900)
  })
})
