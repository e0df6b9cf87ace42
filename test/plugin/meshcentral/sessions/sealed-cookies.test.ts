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
import { Socket, session, USER } from './one-server.ts'

const OTHER = 'user//~oidc:2'
/** To whom somebody shares the desktop and the files of a device. */
const GUEST = { userid: USER, domainid: '', nid: 'node//1', pid: 'public', gn: 'Guest', cf: 0, r: 8, p: 6 }

describe('what MeshCentral seals', () => {
  const opened: { close(): void }[] = []
  /** Issuers that the domain has no longer. */
  const replaced = new Set<string>()
  afterEach(() => {
    replaced.clear()
    for (const one of opened.splice(0)) one.close()
  })

  /** Whole seconds of the time are what MeshCentral writes. */
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
  /** What is sealed while the server works for that. */
  const sealedFor = ({ work: current, seal }: SetUp, whose: Work, content: object): string => {
    let sealed: string | null = null
    current.run(whose, () => {
      sealed = seal(content)
    })
    return sealed ?? ''
  }
  const opens = ({ unseal }: SetUp, sealed: string) => unseal(sealed) !== null
  const opensAt = (all: SetUp, sealed: string, at: Work | undefined) => {
    if (!at) return opens(all, sealed)
    let isOpen = false
    all.work.run(at, () => {
      isOpen = all.unseal(sealed, 'the key', 60) !== null
    })
    return isOpen
  }

  it('bears the session that it was sealed for, and ends with that one alone', async () => {
    for (const content of [{ userid: USER }, { ruserid: USER }, { u: USER, a: 3 }]) {
      const all = await setUp()
      const a = sealedFor(all, work({ session: session('a') }), content)
      const b = sealedFor(all, work({ session: session('b') }), content)
      expect([a, b].map((one) => opens(all, one))).to.deep.equal([true, true])
      await all.revoke(keyOfHandle('a'))
      expect([a, b].map((one) => opens(all, one))).to.deep.equal([false, true])
    }
  })

  it('ends with what an IdP says of its session, which this process need not know', async () => {
    const idp = { domainKey: '', issuer: 'https://idp' }
    for (const [said, expected] of [
      [{ ...idp, subject: null, sid: 'sid of a' }, [false, true]],
      [{ ...idp, subject: '1', sid: 'sid of a' }, [false, true]],
      [{ ...idp, subject: '1', sid: null }, [false, false]],
      [{ ...idp, subject: '2', sid: null }, [true, true]],
    ] as const) {
      const all = await setUp()
      const cookies = ['a', 'b'].map((handle) =>
        sealedFor(all, work({ session: session(handle) }), { userid: USER, domainid: '' }),
      )
      await all.revoke(...keysOfFilter(said))
      expect(cookies.map((one) => opens(all, one))).to.deep.equal(expected)
    }
  })

  it('is not kept alive by sealing it again after the end', async () => {
    const all = await setUp()
    const whose = work({ session: session('a') })
    await all.revoke(keyOfHandle('a'))
    all.clock.set(all.clock.now() + 5_000)
    expect(opens(all, sealedFor(all, whose, { userid: USER }))).to.equal(false)
  })

  it('says neither who the person is nor what lets somebody in', async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ session: session('the handle') }), { userid: USER })
    for (const secret of ['the handle', 'sid of']) expect(sealed).not.to.include(secret)
  })

  it('no longer opens once the domain has another issuer than its session', async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ session: session('a') }), { userid: USER })
    expect(opens(all, sealed)).to.equal(true)
    replaced.add(session('a').signIn.issuer)
    expect(opens(all, sealed)).to.equal(false)
  })

  for (const call of ['Get', 'GetAllTypeNodeFiltered']) {
    it(`is attributed in whatever comes in over a socket, and in what the database answers to ${call} then`, async () => {
      const answers: (() => void)[] = []
      // As a pool of connections answers: each time in the work that is going on there.
      const ask = (_of: unknown, done: () => void) => void answers.push(done)
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
      expect(sealed.map((one) => [(JSON.parse(one) as { name: string }).name, opens(all, one)])).to.deep.equal([
        ['a', false],
        ['b', true],
      ])
    })
  }

  it('is of the session whose cookie a socket without one came with, and that session closes the socket', async () => {
    const all = await setUp()
    const page = sealedFor(all, work({ session: session('a') }), { userid: USER })
    const socket = new Socket()
    const alone = work({ socket })
    all.work.run(alone, () => all.unseal(page))
    const renewed = sealedFor(all, alone, { userid: USER })
    await all.revoke(keyOfHandle('b'))
    all.open.end([keyOfHandle('b')])
    expect([opens(all, renewed), socket.isOpen]).to.deep.equal([true, true])
    await all.revoke(keyOfHandle('a'))
    all.open.end([keyOfHandle('a')])
    expect([opens(all, renewed), socket.isOpen]).to.deep.equal([false, false])
  })

  it('a guest cookie outlives the sessions of its user, but opens only guest paths', async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ path: '/sharing' }), GUEST)
    expect(sealed).to.equal(all.server.encodeCookie(GUEST))
    const relay = work({ path: '/meshrelay.ashx/.websocket', query: { p: '2' }, socket: new Socket() })
    for (const isEnded of [false, true]) {
      if (isEnded) await all.revoke(keyOfSealed(USER), keyOfHandle('a'))
      expect([relay, work({ path: '/devicefile.ashx' })].map((at) => opensAt(all, sealed, at))).to.deep.equal([
        true,
        true,
      ])
    }
    for (const userid of [USER, 'user//admin', 'user/other/~oidc:1']) {
      const guest = JSON.stringify({ ...GUEST, userid })
      expect([work(), undefined].map((at) => opensAt(all, guest, at))).to.deep.equal([false, false])
    }
  })

  // Shows: plugin 10.17.
  it('a guest cookie opens no upload form whose body arrives after its head', async () => {
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
  it('ends with its session where the request that brings it is unknown', async () => {
    const all = await setUp()
    const sealed = sealedFor(all, work({ session: session('a') }), { userid: USER })
    expect(opens(all, sealed)).to.equal(true)
    await all.revoke(keyOfHandle('a'))
    expect(opens(all, sealed)).to.equal(false)
  })

  it('for whoever came in without a session of ours is left alone', async () => {
    const all = await setUp()
    const tokens = sealedFor(all, work(), { userid: USER })
    const someoneElse = sealedFor(all, work({ session: session('a', 1_000, OTHER) }), { userid: USER })
    await all.revoke(keyOfSealed(USER), keyOfHandle('a'))
    expect([opens(all, tokens), opens(all, someoneElse)]).to.deep.equal([true, true])
  })

  it('is of the session that MeshCentral names in it where nobody knows for whom the server works', async () => {
    const all = await setUp()
    all.open.note(session('a'))
    const named = all.seal({ ruserid: USER, x: 'x of a' }) ?? ''
    const unknown = all.seal({ ruserid: USER, x: 'x of b' }) ?? ''
    await all.revoke(keyOfHandle('a'))
    expect([opens(all, named), opens(all, unknown)]).to.deep.equal([false, true])
  })

  describe('for the tunnel of a web relay', () => {
    /** As MeshCentral seals it, on the port or host name that web relays have of their own. */
    const tunnelOf = ({ seal }: SetUp) => seal({ userid: USER, domainid: '', nodeid: 'node//1', tcpport: 80 }) ?? ''
    /** A page of the session has a relay opened. */
    const relay = (all: SetUp, one: SeenSession) => {
      const cookie = sealedFor(all, work({ session: one }), { ruserid: USER, x: one.x })
      expect(opens(all, cookie)).to.equal(true)
    }
    const guest = ({ unseal }: SetUp) =>
      unseal(JSON.stringify({ userid: USER, nid: 'node//1', pid: 'public', r: 8, p: 8, port: 80 }), 'the key', 32) !==
      null

    it('is of the session by whose cookie that was opened, and ends with that one alone', async () => {
      const all = await setUp()
      all.open.note(session('b'))
      relay(all, session('a'))
      const [first, second] = [tunnelOf(all), tunnelOf(all)]
      const socket = new Socket()
      all.work.run(work({ socket }), () => all.unseal(first))
      await all.revoke(keyOfHandle('b'), keyOfSealed(USER))
      all.open.end([keyOfHandle('b'), keyOfSealed(USER)])
      expect([opens(all, first), opens(all, second), socket.isOpen]).to.deep.equal([true, true, true])
      await all.revoke(keyOfHandle('a'))
      all.open.end([keyOfHandle('a')])
      expect([opens(all, first), opens(all, second), socket.isOpen]).to.deep.equal([false, false, false])
      // A request that still waits there.
      all.clock.set(all.clock.now() + 5_000)
      expect(opens(all, tunnelOf(all))).to.equal(false)
    })

    it('ends with the first to end of the sessions whose it may be, and a new one is of those that are left', async () => {
      for (const [ends, stays] of [
        ['a', 'b'],
        ['b', 'a'],
      ] as const) {
        const all = await setUp()
        for (const handle of ['a', 'b']) relay(all, session(handle))
        const either = tunnelOf(all)
        expect(opens(all, either)).to.equal(true)
        await all.revoke(keyOfHandle(ends))
        const left = tunnelOf(all)
        expect([opens(all, either), opens(all, left)]).to.deep.equal([false, true])
        await all.revoke(keyOfHandle(stays))
        expect([opens(all, left), opens(all, tunnelOf(all))]).to.deep.equal([false, false])
      }
    })

    it('is not ended by what ended before the later of them began', async () => {
      const all = await setUp()
      const later = session('b', 20_000)
      await all.revoke(...keysOfFilter({ domainKey: '', issuer: 'https://idp', subject: null, sid: 'sid of b' }))
      all.clock.set(21_000)
      for (const one of [session('a'), later]) relay(all, one)
      const either = tunnelOf(all)
      expect(opens(all, either)).to.equal(true)
      await all.revoke(keyOfHandle('a'))
      expect(opens(all, either)).to.equal(false)
    })

    it('goes on for guests, and for whoever has a login token, after all sessions of the user', async () => {
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

    it('is not what leads to no port of a device, such as a tunnel to a peer', async () => {
      const all = await setUp()
      relay(all, session('a'))
      const toPeer = all.seal({ userid: USER, domainid: '', ps: 1 }) ?? ''
      await all.revoke(keyOfHandle('a'))
      expect(opens(all, toPeer)).to.equal(true)
    })
  })

  it('for nobody knows which session ends with the last of the user, to the millisecond', async () => {
    const all = await setUp()
    const before = all.seal({ userid: USER }) ?? ''
    await all.revoke(keyOfSealed(USER))
    all.clock.set(all.clock.now() + 1)
    const after = all.seal({ userid: USER }) ?? ''
    expect([opens(all, before), opens(all, after)]).to.deep.equal([false, true])
  })

  it('and bears nothing of ours ends with the last session of the user, to the second', async () => {
    const all = await setUp()
    await all.revoke(keyOfSealed(USER))
    for (const name of [{ userid: USER }, { ruserid: USER }, { u: USER, a: 3 }]) {
      expect(opens(all, JSON.stringify({ ...name, time: 10_000 }))).to.equal(false)
      expect(opens(all, JSON.stringify({ ...name, time: 11_000 }))).to.equal(true)
      expect(opens(all, JSON.stringify(name))).to.equal(false)
    }
  })

  it('is untouched where it names nobody of ours', async () => {
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
