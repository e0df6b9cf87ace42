import { expect } from 'chai'
import type { Members, MeshDatabase } from '../../../../plugin/meshcentral/server.ts'
import { leaseInDatabase } from '../../../../plugin/meshcentral/sessions/lease.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { databaseOf } from '../stand-in.ts'

describe('lease of a session among servers that share a database', () => {
  let clock: FakeClock
  let rows: Map<string, Members>
  beforeEach(() => {
    clock = new FakeClock(1_000_000)
    rows = new Map()
  })

  /** A server with a database that needs this time for a write. */
  const server = (writeMs = 0) => {
    const db = databaseOf(rows)
    const set = db.Set
    const slow: MeshDatabase = { ...db, Set: (record, done) => void clock.after(writeMs, () => set(record, done)) }
    return leaseInDatabase(writeMs > 0 ? slow : db, clock)
  }
  /** Advances the clock until the promise settles, and returns its result. */
  const outcomeOf = async <Result>(work: Promise<Result>): Promise<Result> => {
    let isSettled = false
    void work.finally(() => {
      isSettled = true
    })
    while (!isSettled) await clock.advance(10)
    return work
  }
  const take = (lease = server(), id = 'session') => outcomeOf(lease(id))

  it('only one server has the lease of a session until it releases the lease', async () => {
    const release = await take()
    expect(await take()).to.equal(null)
    expect(await take(server(), 'another')).to.be.a('function')
    await release?.()
    expect(rows.size).to.equal(1)
    expect(await take()).to.be.a('function')
  })

  it("at most one server gets a session's lease, even if database writes are slow", async () => {
    for (const delays of [
      [0, 0, 0],
      [0, 100, 200],
      [240, 10, 120],
      [0, 300, 249],
      [600, 0, 260],
    ]) {
      rows.clear()
      const leases = await outcomeOf(Promise.all(delays.map((ms) => server(ms)('session'))))
      expect(
        leases.filter((release) => release !== null),
        String(delays),
      ).to.have.length.at.most(1)
    }
  })

  // Shows: plugin 9.15.
  it('the lease of a dead server expires after 10 s; releasing it later has no effect', async () => {
    const late = await take()
    await clock.advance(9_000)
    expect(await take()).to.equal(null)
    await clock.advance(1_000)
    const release = await take()
    expect(release).to.be.a('function')
    await late?.()
    expect(await take()).to.equal(null)
  })

  it("a session's lease written while the clock was far ahead blocks no other server", async () => {
    await take()
    clock.set(clock.now() - 3_600_000)
    expect(await take()).to.be.a('function')
  })
})
