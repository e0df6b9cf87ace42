import { expect } from 'chai'
import type { Request } from 'express'
import { keyOfHandle } from '../../../../plugin/host/revocations.ts'
import type { MeshDatabase } from '../../../../plugin/meshcentral/server.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/cookie-owner.ts'
import { keysOfOpen } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { databaseOf } from '../stand-in.ts'
import { Socket, session, sessionsOfServers, USER } from './one-server.ts'

describe('peers of MeshCentral', () => {
  const setUpOne = sessionsOfServers()
  /** A server on that database, and the next of its readings there, with what that ends. */
  const setUp = async (db: MeshDatabase) => {
    const one = await setUpOne({ db, isShared: true })
    const closing: Promise<void>[] = []
    one.revocations.onRevokedElsewhere((times) => closing.push(one.sessions.closeRevoked(times)))
    const read = async () => {
      await one.clock.advance(30_000)
      while (closing.length === 0) await new Promise((resolve) => setImmediate(resolve))
      await Promise.all(closing.splice(0))
    }
    return { ...one, read }
  }
  const everythingOf = { domainKey: '', issuer: 'https://idp', subject: '1', sid: null }
  const until = async (is: () => boolean) => {
    while (!is()) await new Promise((resolve) => setImmediate(resolve))
  }

  it('close what is open of a session that ended elsewhere, and nothing that began later', async () => {
    const db = databaseOf()
    const [here, there] = [await setUp(db), await setUp(db)]
    const all = Array.from({ length: 5 }, () => new Socket())
    const [own, sealed, unknown, later, sealedLater] = all as [Socket, Socket, Socket, Socket, Socket]
    const [before, after] = [session('before', 1_000), session('after', 15_001)]
    there.open.note(before, own)
    there.open.note(after, later)
    for (const [one, { signIn }] of [
      [sealed, before],
      [sealedLater, after],
    ] as const) {
      there.open.noteSealed({ kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }, USER, one)
    }
    there.open.noteSealed({ kind: 'unknown', sealedAt: 1 }, USER, unknown)
    const secrets = { idToken: 'an ID token', tokens: null }
    for (const { signIn } of [before, after]) there.secrets.keep({ ...signIn, ...secrets }, signIn.handle, 900_000)

    await here.sessions.endMatching({} as Request, everythingOf)
    await there.read()
    expect(all.map(({ isOpen }) => isOpen)).to.deep.equal([false, false, true, true, true])
    expect(Object.keys(there.web.destroyedSessions)).to.deep.equal([`${USER}/${before.x}`])
    expect((await there.secrets.read('before')).idToken).to.equal(null)
    expect((await there.secrets.read('after')).idToken).to.equal('an ID token')

    // The last one of the user takes along what is of nobody knows whom.
    await here.revocations.revoke([keyOfHandle('after')], 15_001, 900_000)
    await there.read()
    expect(all.map(({ isOpen }) => isOpen)).to.deep.equal([false, false, false, false, false])
    expect(there.revocations.latest([keyOfSealed(USER)])).to.equal(there.clock.now() + 5_000)
  })

  it('end for MeshCentral a session of which only a web relay tells there, and none that began later', async () => {
    const db = databaseOf()
    const [here, there] = [await setUp(db), await setUp(db)]
    for (const { user, x, signIn } of [session('before', 1_000), session('after', 15_001)]) {
      there.open.relays.opened(user, { kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }, x)
    }
    await here.sessions.endMatching({} as Request, everythingOf)
    await there.read()
    expect(Object.keys(there.web.destroyedSessions)).to.deep.equal([`${USER}/x of before`])
  })

  it('read in the database what has ended elsewhere, again and again', async () => {
    const db = databaseOf()
    const [here, there] = [await setUp(db), await setUp(db)]
    const [one, other] = [new Socket(), new Socket()]
    there.open.note(session('one', 1_000), one)
    there.open.note(session('other', 1_000, 'user//~oidc:2'), other)
    for (const [handle, open] of [
      ['one', one],
      ['other', other],
    ] as const) {
      await here.revocations.revoke([keyOfHandle(handle)], 2_000, 900_000)
      await there.clock.advance(29_999)
      expect(open.isOpen).to.equal(true)
      await there.clock.advance(1)
      await until(() => !open.isOpen)
      expect(there.revocations.latest([keyOfHandle(handle)])).to.equal(2_000)
    }
  })

  it('tell once of a database that cannot be read again, and go on reading', async () => {
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
    const [here, there] = [await setUp(db), await setUp(flaky)]
    isBroken = true
    while (broken <= 2) await there.clock.advance(30_000)
    expect(there.failures).to.have.length(1)
    await here.revocations.revoke(['a'], 900, 50_000)
    isBroken = false
    while (there.revocations.latest(['a']) !== 900) await there.clock.advance(30_000)
  })

  it('count with clocks that are apart', async () => {
    const here = await setUp(databaseOf())
    expect((await setUpOne()).revocations.isShared).to.equal(false)
    await here.sessions.endMatching({} as Request, everythingOf)
    expect(here.revocations.latest(keysOfOpen(session('any', 1).signIn))).to.equal(15_000)
  })
})
