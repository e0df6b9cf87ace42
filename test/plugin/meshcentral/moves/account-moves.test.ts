import { expect } from 'chai'
import { AccountMoves } from '../../../../plugin/meshcentral/moves/account-moves.ts'
import type { Members, MeshUser } from '../../../../plugin/meshcentral/server.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { standIn } from '../stand-in.ts'

const [FROM, TO] = ['user//tom', 'user//~oidc:1']
const REQUEST = { from: FROM, to: TO, lock: true, by: 'admin' }
const user = (_id: string, more: Partial<MeshUser> = {}): MeshUser => ({
  ...{ type: 'user', _id, name: _id, domain: '', creation: 0, login: 0, access: 0 },
  ...more,
})

describe('account moves of several servers with one database', () => {
  let clock: FakeClock
  let rows: Map<string, Members>
  let moveEvents: string[]
  beforeEach(() => {
    clock = new FakeClock(1_790_000_000_000)
    rows = new Map([user(FROM, { siteadmin: 2 }), user(TO)].map((record) => [record._id, { ...record }]))
    moveEvents = []
  })

  /** Starts a server that reads the accounts now and learns of no later change. */
  function startServer(isShared = true) {
    const { server, web } = standIn({ records: rows })
    const records = [...rows.values()].filter(({ type }) => type === 'user')
    const users = records.map((record) => [String(record._id), structuredClone(record)])
    Object.assign(web, { users: Object.fromEntries(users) })
    const failures: unknown[] = []
    server.DispatchEvent = (_targets, _source, event) => {
      const { msg = '', nolog } = event as { readonly msg?: string; readonly nolog?: 1 }
      if (msg.includes('moved the rights') && nolog === undefined) moveEvents.push(msg)
    }
    const moves = new AccountMoves({ server, web, clock, isShared, onFailure: (error) => failures.push(error) })
    return { server, moves, failures }
  }
  type Server = ReturnType<typeof startServer>

  /** Blocks the next write of the new account. @returns a function that lets the write continue */
  function block({ server: { db } }: Server): () => void {
    const set = db.Set
    let unblock = () => {}
    db.Set = (record, done) => {
      if ((record as MeshUser)._id !== TO) return set(record, done)
      db.Set = set
      unblock = () => set(record, done)
    }
    return () => unblock()
  }
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) await clock.advance(100)
  }
  const recordsOfMoves = () => [...rows.values()].filter(({ type }) => type !== 'user')

  // Shows: plugin 6.18.
  it("a server that starts during another server's move does not log a second event", async () => {
    const first = startServer()
    const unblock = block(first)
    const moving = first.moves.move(REQUEST)
    await pass(3_000)
    const second = startServer()
    const resuming = second.moves.resume()
    await pass(20_000)
    expect(moveEvents).to.deep.equal([])
    unblock()
    await pass(15_000)
    await Promise.all([moving, resuming])
    expect(moveEvents).to.have.length(1)
    expect(recordsOfMoves()).to.deep.equal([])
    expect(clock.pending).to.equal(0)
    expect([...first.failures, ...second.failures]).to.deep.equal([])
  })

  // Shows: plugin 6.18.
  it("two starting servers complete a dead server's account move only once", async () => {
    const first = startServer()
    block(first)
    const dead = first.moves.move(REQUEST).catch(() => undefined)
    await pass(3_000)
    const servers = [startServer(), startServer()]
    // The dead server releases nothing, unlike this one after the time limit of its write.
    first.server.db.Remove = () => undefined
    for (const { moves } of servers) void moves.resume()
    await pass(180_000)
    await dead
    expect(moveEvents).to.have.length(1)
    expect(rows.get(TO)?.siteadmin).to.equal(2)
    expect(recordsOfMoves()).to.deep.equal([])
  })

  it('refuses to move an account that another server is moving; a later try succeeds', async () => {
    const [first, second] = [startServer(), startServer()]
    const unblock = block(first)
    const moving = first.moves.move(REQUEST)
    await pass(3_000)
    const error = await second.moves.move(REQUEST).catch((reason: unknown) => reason)
    expect(String(error)).to.include('Another server is moving this account')
    unblock()
    await pass(3_000)
    await moving
    const third = startServer()
    const repeated = third.moves.move(REQUEST)
    await pass(3_000)
    await repeated
    expect(moveEvents).to.have.length(1)
  })

  it('a closed server stops waiting for an account move by another server', async () => {
    const first = startServer()
    block(first)
    void first.moves.move(REQUEST).catch(() => undefined)
    await pass(3_000)
    const second = startServer()
    void second.moves.resume()
    await pass(1_000)
    const waiting = clock.waiting(10_000)
    second.moves.close()
    expect([waiting, clock.waiting(10_000)]).to.deep.equal([1, 0])
  })

  it('a single server moves an account without waiting for other servers', async () => {
    await startServer(false).moves.move(REQUEST)
    expect(moveEvents).to.have.length(1)
    expect(recordsOfMoves()).to.deep.equal([])
  })

  it('a restart removes the record of a finished account move and logs no second event', async () => {
    const first = startServer(false)
    first.server.db.Remove = (_id, done) => void setImmediate(() => done?.())
    await first.moves.move(REQUEST)
    expect(recordsOfMoves()).to.have.length(1)
    await startServer(false).moves.resume()
    expect(moveEvents).to.have.length(1)
    expect(recordsOfMoves()).to.deep.equal([])
  })
})
