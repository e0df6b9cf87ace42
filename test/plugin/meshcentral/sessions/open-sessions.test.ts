import { expect } from 'chai'
import { keyOfHandle, keysOfFilter } from '../../../../plugin/host/revocations.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/cookie-owner.ts'
import { keysOfOpen, OpenSessions } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Socket, session, USER } from './server-sessions.ts'

describe('open sessions', () => {
  const owner = (handle: string) => {
    const { signIn } = session(handle)
    return { kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt } as const
  }
  const isClosed = ({ isOpen }: Socket) => !isOpen

  it('ending a session closes its sockets and those opened with its sealed cookies', () => {
    const open = new OpenSessions(new FakeClock(10))
    const all = Array.from({ length: 6 }, () => new Socket())
    const [ownSocket, sealed, otherSocket, sealedForOther, unknown, none] = all as [
      Socket,
      Socket,
      Socket,
      Socket,
      Socket,
      Socket,
    ]
    open.note(session('a'), ownSocket)
    open.noteSealed(owner('a'), USER, sealed)
    open.note(session('b'), otherSocket)
    open.noteSealed(owner('b'), USER, sealedForOther)
    open.noteSealed({ kind: 'unknown', sealedAt: 1 }, USER, unknown)
    open.noteSealed({ kind: 'none' }, USER, none)
    open.end([keyOfHandle('a')])
    expect(all.map(isClosed)).to.deep.equal([true, true, false, false, false, false])
    expect(open.hasSession(USER)).to.equal(true)
    open.end(keysOfFilter({ domainKey: '', issuer: 'https://idp', subject: '1', sid: null }))
    expect(all.map(isClosed)).to.deep.equal([true, true, true, true, false, false])
    expect(open.hasSession(USER)).to.equal(false)
    open.end([keyOfSealed('user//~oidc:2')])
    expect(isClosed(unknown)).to.equal(false)
    open.end([keyOfSealed(USER)])
    expect([unknown, none].map(isClosed)).to.deep.equal([true, false])
  })

  it('an open session is found by its current sid and by each earlier sid', () => {
    const open = new OpenSessions(new FakeClock(10))
    const first = session('a')
    const second = { ...first, signIn: { ...first.signIn, sid: 'second' } }
    const socket = new Socket()
    open.note(first, socket)
    open.note(second)
    for (const sid of ['sid of a', 'second']) {
      const keys = keysOfFilter({ domainKey: '', issuer: 'https://idp', subject: null, sid })
      expect(open.find(keys)).to.have.length(1)
    }
    open.end(keysOfFilter({ domainKey: '', issuer: 'https://idp', subject: null, sid: 'second' }))
    expect(isClosed(socket)).to.equal(true)
    expect(open.hasSession(USER)).to.equal(false)
  })

  // Shows: plugin 6.11.
  it('sockets opened with a login token close when the token expires', async () => {
    const clock = new FakeClock(10)
    const open = new OpenSessions(clock)
    const [socket, closedEarly, unlimited] = [new Socket(), new Socket(), new Socket()]
    open.noteSealed({ ...owner('a'), until: 15 }, USER, socket)
    open.noteSealed({ ...owner('a'), until: 15 }, USER, closedEarly)
    open.noteSealed(owner('a'), USER, unlimited)
    closedEarly.close()
    expect(clock.pending).to.equal(1)
    await clock.advance(4)
    expect(isClosed(socket)).to.equal(false)
    await clock.advance(1)
    expect([socket, unlimited].map(isClosed)).to.deep.equal([true, false])
    expect(clock.pending).to.equal(0)
  })

  describe('sessions in use', () => {
    let clock: FakeClock
    let open: OpenSessions
    const dueSessions = (forMs: number) => [...open.inUse('', forMs)].map(({ signIn }) => signIn.handle)
    beforeEach(() => {
      clock = new FakeClock(10)
      open = new OpenSessions(clock)
    })

    // Shows: plugin 9.15.
    it('a session is in use if it has a socket or sent a request since its last check', async () => {
      const [ownSocket, sealed] = [new Socket(), new Socket()]
      open.note(session('a'), ownSocket)
      open.note(session('b'))
      open.noteSealed(owner('b'), USER, sealed)
      open.note(session('c'))
      await clock.advance(1)
      expect(dueSessions(11)).to.deep.equal([])
      // The time of sessions that were never checked counts from their login.
      expect(dueSessions(10)).to.deep.equal(['a', 'b', 'c'])
      expect(dueSessions(1)).to.deep.equal([])
      await clock.advance(1)
      expect(dueSessions(1)).to.deep.equal(['a', 'b'])
      ownSocket.close()
      sealed.close()
      await clock.advance(1)
      open.note(session('c'))
      expect(dueSessions(1)).to.deep.equal(['c'])
    })

    it('sessions stay in use while an open tunnel may belong to any of them', async () => {
      for (const handle of ['a', 'b', 'c']) open.note(session(handle))
      const keys = ['a', 'b'].flatMap((handle) => owner(handle).keys)
      open.noteSealed({ ...owner('a'), keys }, USER, new Socket())
      await clock.advance(1)
      expect(dueSessions(0)).to.deep.equal(['a', 'b', 'c'])
      await clock.advance(1)
      expect(dueSessions(0)).to.deep.equal(['a', 'b'])
    })

    it('the session with the oldest check is checked first, even if a round stops early', async () => {
      for (const handle of ['a', 'b', 'c']) open.note(session(handle), new Socket())
      for (const { signIn } of open.inUse('', 0)) if (signIn.handle === 'b') break
      await clock.advance(1)
      expect(dueSessions(0)).to.deep.equal(['b', 'c', 'a'])
    })

    it('a session check becomes due on time even if the clock was set forward or back', async () => {
      for (const to of [1_000_000, -1_000_000]) {
        open.note(session('a'))
        await clock.advance(5)
        clock.set(to)
        expect(dueSessions(5)).to.deep.equal(['a'])
        expect(dueSessions(0)).to.deep.equal([])
        await clock.advance(1)
      }
    })
  })

  it("an open session is found by user id and x, MeshCentral's name of the session", () => {
    const open = new OpenSessions(new FakeClock(10))
    open.note(session('a'))
    expect(open.named(USER, 'x of a')).to.deep.equal(session('a'))
    expect(open.named(USER, 'x of b')).to.equal(undefined)
    expect(open.named('user//~oidc:2', 'x of a')).to.equal(undefined)
  })

  it("open sessions are found by the IdP's subject and sid", () => {
    const open = new OpenSessions(new FakeClock(10))
    open.note(session('a'))
    open.note(session('b'))
    const ended = { domainKey: '', issuer: 'https://idp', subject: null }
    expect(open.find(keysOfFilter({ ...ended, sid: 'sid of b' }))).to.deep.equal([session('b')])
    expect(open.find(keysOfFilter({ ...ended, sid: null, subject: '1' }))).to.deep.equal([session('a'), session('b')])
    expect(open.find(keysOfFilter({ ...ended, issuer: 'https://other', sid: 'sid of b' }))).to.deep.equal([])
  })

  // Shows: plugin 9.10.
  it('finding or ending sessions by key does not scan all open sessions', () => {
    const open = new OpenSessions(new FakeClock(10))
    let looks = 0
    const watched = (handle: string) =>
      new Proxy(keysOfOpen(session(handle).signIn), {
        get(keys, name) {
          looks += 1
          return Reflect.get(keys, name)
        },
      })
    for (let count = 0; count < 100; count += 1) open.note(session(`${count}`), undefined, watched(`${count}`))
    looks = 0
    const ended = { domainKey: '', issuer: 'https://idp', subject: null, sid: 'made up' }
    expect(open.find(keysOfFilter(ended))).to.deep.equal([])
    open.end(keysOfFilter(ended))
    expect(open.named(USER, 'made up')).to.equal(undefined)
    expect(open.hasSession('user//~oidc:2')).to.equal(false)
    expect(looks).to.equal(0)
    open.end(keysOfFilter({ ...ended, sid: 'sid of 7' }))
    expect(looks).to.be.below(20)
    expect(open.find(keysOfFilter({ ...ended, sid: 'sid of 7' }))).to.deep.equal([])
  })

  it('if too many sessions are open, drops the longest idle sessions without a socket', () => {
    const open = new OpenSessions(new FakeClock(10), 2)
    open.note(session('a'), new Socket())
    for (const handle of ['b', 'c', 'b', 'd']) open.note(session(handle))
    const sessions = open.find(keysOfFilter({ domainKey: '', issuer: 'https://idp', subject: '1', sid: null }))
    expect(sessions.map(({ signIn }) => signIn.handle)).to.deep.equal(['a', 'd'])
  })

  it('excess sessions whose sockets have closed are dropped when a new session begins', () => {
    const open = new OpenSessions(new FakeClock(10), 2)
    const sockets = Array.from({ length: 4 }, () => new Socket())
    for (const [index, socket] of sockets.entries()) open.note(session(`${index}`), socket)
    for (const socket of sockets) socket.close()
    open.note(session('new'))
    const sessions = open.find(keysOfFilter({ domainKey: '', issuer: 'https://idp', subject: '1', sid: null }))
    expect(sessions.map(({ signIn }) => signIn.handle)).to.deep.equal(['3', 'new'])
  })
})
