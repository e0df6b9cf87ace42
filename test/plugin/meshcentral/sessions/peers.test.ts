import { expect } from 'chai'
import type { Request } from 'express'
import { keyOfHandle } from '../../../../plugin/host/revocations.ts'
import type { MeshDatabase } from '../../../../plugin/meshcentral/server.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/cookie-owner.ts'
import { keysOfOpen } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { until } from '../../../support/until.ts'
import { databaseOf } from '../stand-in.ts'
import { Socket, session, sessionsOfServers, USER } from './server-sessions.ts'

describe('sessions at peer servers of MeshCentral', () => {
  const setUpOne = sessionsOfServers()
  /** Opens a server on this database. `read` waits until it has read the database again and closed what has ended. */
  const setUp = async (db: MeshDatabase) => {
    const server = await setUpOne({ db, isShared: true })
    const closing: Promise<void>[] = []
    server.revocations.onRevokedElsewhere((times) => closing.push(server.sessions.closeRevoked(times)))
    const read = async () => {
      await server.clock.advance(30_000)
      await until('the next reading', () => closing.length > 0)
      await Promise.all(closing.splice(0))
    }
    return { ...server, read }
  }
  const everythingOf = { domainKey: '', issuer: 'https://idp', subject: '1', sid: null }

  it("a session that ended at a peer closes its own sockets, but not a later session's", async () => {
    const db = databaseOf()
    const [first, second] = [await setUp(db), await setUp(db)]
    const all = Array.from({ length: 5 }, () => new Socket())
    const [ownSocket, sealed, unknown, laterSocket, sealedLater] = all as [Socket, Socket, Socket, Socket, Socket]
    const [earlier, later] = [session('before', 1_000), session('after', 15_001)]
    second.open.note(earlier, ownSocket)
    second.open.note(later, laterSocket)
    for (const [socket, { signIn }] of [
      [sealed, earlier],
      [sealedLater, later],
    ] as const) {
      second.open.noteSealed({ kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }, USER, socket)
    }
    second.open.noteSealed({ kind: 'unknown', sealedAt: 1 }, USER, unknown)
    const secrets = { idToken: 'an ID token', tokens: null }
    for (const { signIn } of [earlier, later]) second.secrets.keep({ ...signIn, ...secrets }, signIn.handle, 900_000)

    await first.sessions.endMatching({} as Request, everythingOf)
    await second.read()
    expect(all.map(({ isOpen }) => isOpen)).to.deep.equal([false, false, true, true, true])
    expect(Object.keys(second.web.destroyedSessions)).to.deep.equal([`${USER}/${earlier.x}`])
    expect((await second.secrets.read('before')).idToken).to.equal(null)
    expect((await second.secrets.read('after')).idToken).to.equal('an ID token')

    // The last session of the user also ends what belongs to an unknown session.
    await first.revocations.revoke([keyOfHandle('after')], 15_001, 900_000)
    await second.read()
    expect(all.map(({ isOpen }) => isOpen)).to.deep.equal([false, false, false, false, false])
    expect(second.revocations.latest([keyOfSealed(USER)])).to.equal(second.clock.now() + 5_000)
  })

  it('a session that a peer ended ends on this server even if only a web relay used it', async () => {
    const db = databaseOf()
    const [first, second] = [await setUp(db), await setUp(db)]
    for (const { user, x, signIn } of [session('before', 1_000), session('after', 15_001)]) {
      second.open.relays.opened(user, { kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }, x)
    }
    await first.sessions.endMatching({} as Request, everythingOf)
    await second.read()
    expect(Object.keys(second.web.destroyedSessions)).to.deep.equal([`${USER}/x of before`])
  })

  it('a server reads every 30 s which sessions ended at its peers', async () => {
    const db = databaseOf()
    const [first, second] = [await setUp(db), await setUp(db)]
    const [firstSocket, secondSocket] = [new Socket(), new Socket()]
    second.open.note(session('one', 1_000), firstSocket)
    second.open.note(session('other', 1_000, 'user//~oidc:2'), secondSocket)
    for (const [handle, open] of [
      ['one', firstSocket],
      ['other', secondSocket],
    ] as const) {
      await first.revocations.revoke([keyOfHandle(handle)], 2_000, 900_000)
      await second.clock.advance(29_999)
      expect(open.isOpen).to.equal(true)
      await second.clock.advance(1)
      await until('the end of the socket', () => !open.isOpen)
      expect(second.revocations.latest([keyOfHandle(handle)])).to.equal(2_000)
    }
  })

  it('a server logs once that it cannot read the database, and keeps trying', async () => {
    const db = databaseOf()
    let isBroken = false
    let broken = 0
    const flaky: MeshDatabase = {
      ...db,
      GetAllType: (type, done) => {
        if (!isBroken || type !== 'meshcompanion') return db.GetAllType(type, done)
        broken += 1
        done(new Error('away'), null)
      },
    }
    const [first, second] = [await setUp(db), await setUp(flaky)]
    isBroken = true
    while (broken <= 2) await second.clock.advance(30_000)
    expect(second.failures).to.have.length(1)
    await first.revocations.revoke(['a'], 900, 50_000)
    isBroken = false
    while (second.revocations.latest(['a']) !== 900) await second.clock.advance(30_000)
  })

  it('with peer servers, a revocation also ends sessions that begin up to 5 s later', async () => {
    const server = await setUp(databaseOf())
    expect((await setUpOne()).revocations.isShared).to.equal(false)
    await server.sessions.endMatching({} as Request, everythingOf)
    expect(server.revocations.latest(keysOfOpen(session('any', 1).signIn))).to.equal(15_000)
  })
})
