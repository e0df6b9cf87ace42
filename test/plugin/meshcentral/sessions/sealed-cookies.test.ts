import { EventEmitter } from 'node:events'
import { expect } from 'chai'
import { keyOfHandle, keysOfFilter } from '../../../../plugin/host/revocations.ts'
import type { MeshCookie, MeshDatabase } from '../../../../plugin/meshcentral/server.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/cookie-owner.ts'
import { followWork, type Work } from '../../../../plugin/meshcentral/sessions/current-work.ts'
import { OpenSessions, type SeenSession } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { RevokedSessions } from '../../../../plugin/meshcentral/sessions/revoked-sessions.ts'
import { sealedBySession } from '../../../../plugin/meshcentral/sessions/sealed-cookies.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { databaseOf } from '../stand-in.ts'
import { Socket, session, USER } from './server-sessions.ts'

const OTHER = 'user//~oidc:2'
/** A guest who may use the desktop and the files of a device. */
const GUEST = { userid: USER, domainid: '', nid: 'node//1', pid: 'public', gn: 'Guest', cf: 0, r: 8, p: 6 }

describe('cookie that MeshCentral seals', () => {
  const opened: { close(): void }[] = []
  /** Issuers that the domain no longer has. */
  const replaced = new Set<string>()
  afterEach(() => {
    replaced.clear()
    for (const store of opened.splice(0)) store.close()
  })

  /** MeshCentral writes times in whole seconds. */
  async function setUp(db: MeshDatabase = databaseOf()) {
    const clock = new FakeClock(10_300)
    const now = () => clock.now()
    const revocations = new RevokedSessions(db, clock)
    opened.push(revocations)
    await revocations.endedAt([])
    const open = new OpenSessions(clock)
    const work = followWork(db)
    const server = {
      encodeCookie: (content: object) => JSON.stringify({ ...content, time: Math.floor(now() / 1000) * 1000 }),
      decodeCookie: (sealed: unknown) => JSON.parse(String(sealed)) as MeshCookie | null,
    }
    const { encodeCookie, decodeCookie } = sealedBySession({
      ...{ server, revocations, open, work, now },
      domains: new Set(['']),
      acceptsIssuer: ({ issuer }) => !replaced.has(issuer),
    })
    const revoke = (...keys: readonly string[]) => revocations.revoke(keys, now(), 1_000_000)
    return { clock, open, work, server, revoke, seal: encodeCookie, unseal: decodeCookie, db }
  }
  type SetUp = Awaited<ReturnType<typeof setUp>>

  const work = (members: Partial<Work> = {}): Work => ({
    ...{ path: '/control.ashx/.websocket', query: {}, request: undefined, session: undefined, socket: undefined },
    ...{ brought: new Map(), ...members },
  })
  /** Returns what `seal` makes of `content` during this request. */
  const sealedFor = ({ work: current, seal }: SetUp, request: Work, content: object): string => {
    let sealed: string | null = null
    current.run(request, () => {
      sealed = seal(content)
    })
    return sealed ?? ''
  }
  const opens = ({ unseal }: SetUp, sealed: string) => unseal(sealed) !== null
  const opensAt = (all: SetUp, sealed: string, request: Work | undefined) => {
    if (!request) return opens(all, sealed)
    let isOpen = false
    all.work.run(request, () => {
      isOpen = all.unseal(sealed, 'the key', 60) !== null
    })
    return isOpen
  }

  it('a sealed cookie becomes invalid only when the session that sealed it ends', async () => {
    for (const content of [{ userid: USER }, { ruserid: USER }, { u: USER, a: 3 }]) {
      const all = await setUp()
      const a = sealedFor(all, work({ session: session('a') }), content)
      const b = sealedFor(all, work({ session: session('b') }), content)
      expect([a, b].map((cookie) => opens(all, cookie))).to.deep.equal([true, true])
      await all.revoke(keyOfHandle('a'))
      expect([a, b].map((cookie) => opens(all, cookie))).to.deep.equal([false, true])
    }
  })

  it('a sealed cookie is invalid once the IdP ends its session, even with no page open', async () => {
    const idp = { domainKey: '', issuer: 'https://idp' }
    for (const [filter, expected] of [
      [{ ...idp, subject: null, sid: 'sid of a' }, [false, true]],
      [{ ...idp, subject: '1', sid: 'sid of a' }, [false, true]],
      [{ ...idp, subject: '1', sid: null }, [false, false]],
      [{ ...idp, subject: '2', sid: null }, [true, true]],
    ] as const) {
      const all = await setUp()
      const cookies = ['a', 'b'].map((handle) =>
        sealedFor(all, work({ session: session(handle) }), { userid: USER, domainid: '' }),
      )
      await all.revoke(...keysOfFilter(filter))
      expect(cookies.map((cookie) => opens(all, cookie))).to.deep.equal(expected)
    }
  })

  it('a cookie sealed for a revoked session does not open', async () => {
    const all = await setUp()
    const request = work({ session: session('a') })
    await all.revoke(keyOfHandle('a'))
    all.clock.set(all.clock.now() + 5_000)
    expect(opens(all, sealedFor(all, request, { userid: USER }))).to.equal(false)
  })

  it("a sealed cookie contains neither the user's identity nor session secrets", async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ session: session('the handle') }), { userid: USER })
    for (const secret of ['the handle', 'sid of']) expect(sealed).not.to.include(secret)
  })

  it('a sealed cookie does not open after the issuer of its domain was replaced', async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ session: session('a') }), { userid: USER })
    expect(opens(all, sealed)).to.equal(true)
    replaced.add(session('a').signIn.issuer)
    expect(opens(all, sealed)).to.equal(false)
  })

  for (const call of ['Get', 'GetAllTypeNodeFiltered']) {
    it(`a callback of db.${call} seals cookies for the session that called it`, async () => {
      const answers: (() => void)[] = []
      // Calls back in the async context of another request, as a connection pool does.
      const ask = (_filter: unknown, done: () => void) => void answers.push(done)
      const db = Object.assign(databaseOf(), { [call]: ask })
      const all = await setUp(db)
      const [a, b] = [new Socket(), new Socket()]
      const sealed: string[] = []
      for (const [socket, handle] of [
        [a, 'a'],
        [b, 'b'],
      ] as const) {
        all.work.run(work({ session: session(handle), socket }), () => {
          socket.on('message', () =>
            Reflect.get(all.db, call)('node', () => sealed.push(all.seal({ userid: USER, name: handle }) ?? '')),
          )
        })
      }
      a.emit('message')
      b.emit('message')
      all.work.run(work({ session: session('c') }), () => {
        for (const answer of answers) answer()
      })
      await all.revoke(keyOfHandle('a'), keyOfHandle('c'))
      expect(sealed.map((cookie) => [(JSON.parse(cookie) as { name: string }).name, opens(all, cookie)])).to.deep.equal(
        [
          ['a', false],
          ['b', true],
        ],
      )
    })
  }

  it('a cookie sealed for a socket belongs to the session that opened the socket', async () => {
    const all = await setUp()
    const page = sealedFor(all, work({ session: session('a') }), { userid: USER })
    const socket = new Socket()
    const alone = work({ socket })
    all.work.run(alone, () => all.unseal(page))
    const renewed = sealedFor(all, alone, { userid: USER })
    await all.revoke(keyOfHandle('b'))
    all.open.end([keyOfHandle('b')])
    expect(opens(all, renewed)).to.equal(true)
    expect(socket.isOpen).to.equal(true)
    await all.revoke(keyOfHandle('a'))
    all.open.end([keyOfHandle('a')])
    expect(opens(all, renewed)).to.equal(false)
    expect(socket.isOpen).to.equal(false)
  })

  it("a guest's cookie outlives the user's sessions, but opens only what is shared", async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ path: '/sharing' }), GUEST)
    expect(sealed).to.equal(all.server.encodeCookie(GUEST))
    const relay = work({ path: '/meshrelay.ashx/.websocket', query: { p: '2' }, socket: new Socket() })
    for (const isEnded of [false, true]) {
      if (isEnded) await all.revoke(keyOfSealed(USER), keyOfHandle('a'))
      expect([relay, work({ path: '/devicefile.ashx' })].map((request) => opensAt(all, sealed, request))).to.deep.equal(
        [true, true],
      )
    }
    for (const userid of [USER, 'user//admin', 'user/other/~oidc:1']) {
      const guest = JSON.stringify({ ...GUEST, userid })
      expect([work(), undefined].map((request) => opensAt(all, guest, request))).to.deep.equal([false, false])
    }
  })

  // Shows: plugin 10.17.
  it("a guest's cookie authorizes no upload even if the request body arrives late", async () => {
    const all = await setUp()
    const request = new EventEmitter()
    let opened: MeshCookie | null | undefined
    all.work.run(work({ path: '/uploadfilebatch.ashx', request }), () => {
      request.on('data', () => {
        opened = all.unseal(JSON.stringify({ ...GUEST, p: 8 }), 'the key', 32)
      })
    })
    request.emit('data')
    expect(opened).to.equal(null)
  })

  // Shows: plugin 10.17.
  it('a cookie opened outside of a request is refused after its session was revoked', async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ session: session('a') }), { userid: USER })
    expect(opens(all, sealed)).to.equal(true)
    await all.revoke(keyOfHandle('a'))
    expect(opens(all, sealed)).to.equal(false)
  })

  it('revocations do not affect sealed cookies that contain no session of the plugin', async () => {
    const all = await setUp()
    const tokens = sealedFor(all, work(), { userid: USER })
    const someoneElse = sealedFor(all, work({ session: session('a', 1_000, OTHER) }), { userid: USER })
    await all.revoke(keyOfSealed(USER), keyOfHandle('a'))
    expect(opens(all, tokens)).to.equal(true)
    expect(opens(all, someoneElse)).to.equal(true)
  })

  it('a cookie sealed outside of a request belongs to the session that it names', async () => {
    const all = await setUp()
    all.open.note(session('a'))
    const named = all.seal({ ruserid: USER, x: 'x of a' }) ?? ''
    const unknown = all.seal({ ruserid: USER, x: 'x of b' }) ?? ''
    await all.revoke(keyOfHandle('a'))
    expect(opens(all, named)).to.equal(false)
    expect(opens(all, unknown)).to.equal(true)
  })

  describe('sealed cookie for the tunnel of a web relay', () => {
    /** Seals a cookie as MeshCentral does on the separate port or host name of web relays. */
    const tunnelOf = ({ seal }: SetUp) => seal({ userid: USER, domainid: '', nodeid: 'node//1', tcpport: 80 }) ?? ''
    /** Opens a relay from a page of the session. */
    const relay = (all: SetUp, owner: SeenSession) => {
      const cookie = sealedFor(all, work({ session: owner }), { ruserid: USER, x: owner.x })
      expect(opens(all, cookie)).to.equal(true)
    }
    const guest = ({ unseal }: SetUp) =>
      unseal(JSON.stringify({ userid: USER, nid: 'node//1', pid: 'public', r: 8, p: 8, port: 80 }), 'the key', 32) !==
      null

    it("a web relay's tunnel cookie ends only with the session that opened the relay", async () => {
      const all = await setUp()
      all.open.note(session('b'))
      relay(all, session('a'))
      const [first, second] = [tunnelOf(all), tunnelOf(all)]
      const socket = new Socket()
      all.work.run(work({ socket }), () => all.unseal(first))
      await all.revoke(keyOfHandle('b'), keyOfSealed(USER))
      all.open.end([keyOfHandle('b'), keyOfSealed(USER)])
      expect(opens(all, first)).to.equal(true)
      expect(opens(all, second)).to.equal(true)
      expect(socket.isOpen).to.equal(true)
      await all.revoke(keyOfHandle('a'))
      all.open.end([keyOfHandle('a')])
      expect(opens(all, first)).to.equal(false)
      expect(opens(all, second)).to.equal(false)
      expect(socket.isOpen).to.equal(false)
      // A request that is still waiting.
      all.clock.set(all.clock.now() + 5_000)
      expect(opens(all, tunnelOf(all))).to.equal(false)
    })

    it('a tunnel cookie that may belong to two sessions ends when either session ends', async () => {
      for (const [ends, remains] of [
        ['a', 'b'],
        ['b', 'a'],
      ] as const) {
        const all = await setUp()
        for (const handle of ['a', 'b']) relay(all, session(handle))
        const either = tunnelOf(all)
        expect(opens(all, either)).to.equal(true)
        await all.revoke(keyOfHandle(ends))
        const newTunnel = tunnelOf(all)
        expect(opens(all, either)).to.equal(false)
        expect(opens(all, newTunnel)).to.equal(true)
        await all.revoke(keyOfHandle(remains))
        expect(opens(all, newTunnel)).to.equal(false)
        expect(opens(all, tunnelOf(all))).to.equal(false)
      }
    })

    it("a revocation before a session's start leaves the session's tunnel cookie valid", async () => {
      const all = await setUp()
      const later = session('b', 20_000)
      await all.revoke(...keysOfFilter({ domainKey: '', issuer: 'https://idp', subject: null, sid: 'sid of b' }))
      all.clock.set(21_000)
      for (const owner of [session('a'), later]) relay(all, owner)
      const either = tunnelOf(all)
      expect(opens(all, either)).to.equal(true)
      await all.revoke(keyOfHandle('a'))
      expect(opens(all, either)).to.equal(false)
    })

    it("tunnel cookies for guests or from login tokens outlive the user's sessions", async () => {
      for (const open of [
        guest,
        (all: SetUp) => opens(all, sealedFor(all, work(), { ruserid: USER, x: 'x of a tool' })),
      ]) {
        const all = await setUp()
        relay(all, session('a'))
        open(all)
        await all.revoke(keyOfHandle('a'), keyOfSealed(USER))
        all.clock.set(all.clock.now() + 1)
        expect(opens(all, tunnelOf(all))).to.equal(true)
      }
    })

    it("a cookie for peer servers stays valid after the user's session was revoked", async () => {
      const all = await setUp()
      relay(all, session('a'))
      const toPeer = all.seal({ userid: USER, domainid: '', ps: 1 }) ?? ''
      await all.revoke(keyOfHandle('a'))
      expect(opens(all, toPeer)).to.equal(true)
    })
  })

  it('a cookie without a known session is invalid if the user was signed out later', async () => {
    const all = await setUp()
    const earlier = all.seal({ userid: USER }) ?? ''
    await all.revoke(keyOfSealed(USER))
    all.clock.set(all.clock.now() + 1)
    const later = all.seal({ userid: USER }) ?? ''
    expect(opens(all, earlier)).to.equal(false)
    expect(opens(all, later)).to.equal(true)
  })

  it('a cookie from another server is invalid if the user was signed out later', async () => {
    const all = await setUp()
    await all.revoke(keyOfSealed(USER))
    for (const name of [{ userid: USER }, { ruserid: USER }, { u: USER, a: 3 }]) {
      expect(opens(all, JSON.stringify({ ...name, time: 10_000 }))).to.equal(false)
      expect(opens(all, JSON.stringify({ ...name, time: 11_000 }))).to.equal(true)
      expect(opens(all, JSON.stringify(name))).to.equal(false)
    }
  })

  it('a cookie that names no single sign-on user is sealed and opened unchanged', async () => {
    const all = await setUp()
    await all.revoke(keyOfSealed(USER), keyOfSealed('user//admin'))
    for (const content of [
      { userid: 'user//admin' },
      { userid: 'user/other/~oidc:1' },
      { uid: USER, a: 5 },
      { u: USER, a: 5 },
      { nouser: 1 },
    ]) {
      const sealed = sealedFor(all, work({ session: session('a') }), content)
      expect(sealed).to.equal(all.server.encodeCookie(content))
      expect(opens(all, sealed)).to.equal(true)
    }
    expect(all.unseal('null')).to.equal(null)
  })
})
