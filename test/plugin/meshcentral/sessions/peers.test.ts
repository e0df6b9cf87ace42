import { expect } from 'chai'
import type { Request } from 'express'
import { keyOfHandle } from '../../../../plugin/host/revocations.ts'
import type { Members, MeshDatabase, MeshListener, MeshSocket } from '../../../../plugin/meshcentral/server.ts'
import { type Ended, endedInDatabase } from '../../../../plugin/meshcentral/sessions/ended.ts'
import { keptSessions } from '../../../../plugin/meshcentral/sessions/kept-sessions.ts'
import {
  createOpenSessions,
  keysOfOpen,
  type SeenSession,
} from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/owner.ts'
import { type Ending, meshPeers } from '../../../../plugin/meshcentral/sessions/peers.ts'
import { sessionSecrets } from '../../../../plugin/meshcentral/sessions/session-secrets.ts'
import { maxAgeOf, meshSessions } from '../../../../plugin/meshcentral/sessions/sessions.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { databaseOf, standIn } from '../stand-in.ts'

const SECRET = 'a secret of the servers with more than 32 characters'
const USER = 'user//~oidc:1'

/** MeshCentral's event bus between servers: an event goes to listeners here as it is, and to those of peers as it comes over a line. */
function createBus() {
  const servers: Map<string, Set<MeshListener>>[] = []
  const passed: unknown[] = []
  let isUp = true
  const deliver = (
    listeners: Map<string, Set<MeshListener>>,
    targets: readonly string[],
    ...event: [unknown, unknown]
  ) => {
    for (const target of targets) for (const one of listeners.get(target) ?? []) one.HandleEvent(...event)
  }
  return {
    passed,
    part: (parted: boolean) => {
      isUp = !parted
    },
    /** As somebody would who can make events. */
    inject: (event: unknown) => {
      for (const listeners of servers) deliver(listeners, ['meshcompanion'], null, event)
    },
    join() {
      const listeners = new Map<string, Set<MeshListener>>()
      servers.push(listeners)
      return {
        multiServer: {},
        DispatchEvent: (targets: readonly string[], source: unknown, event: object | string) => {
          passed.push(event)
          deliver(listeners, targets, source, event)
          if (!isUp) return
          for (const other of servers) {
            if (other !== listeners) deliver(other, targets, null, JSON.parse(JSON.stringify(event)))
          }
        },
        AddEventDispatch: (targets: readonly string[], listener: MeshListener) => {
          for (const target of targets) listeners.set(target, (listeners.get(target) ?? new Set()).add(listener))
        },
        RemoveEventDispatch: (targets: readonly string[], listener: MeshListener) => {
          for (const target of targets) listeners.get(target)?.delete(listener)
        },
      }
    },
  }
}

const socket = () => {
  const one = {
    isOpen: true,
    on: () => undefined,
    emit: () => true,
    close: () => {
      one.isOpen = false
    },
  }
  return one satisfies MeshSocket
}

describe('peers of MeshCentral', () => {
  const opened: { close(): void }[] = []
  afterEach(() => {
    for (const one of opened.splice(0)) one.close()
  })

  /** A server on the bus. Its clock says 10,000. */
  const setUp = async (bus: ReturnType<typeof createBus>, db: MeshDatabase) => {
    const { server, web } = standIn()
    const own = { ...server, ...bus.join(), db }
    const failures: unknown[] = []
    const onFailure = (error: unknown) => void failures.push(error)
    const clock = new FakeClock(10_000)
    const peers = meshPeers(own, web, SECRET)
    if (!peers) throw new Error('there are peers')
    const ended = endedInDatabase(db, clock, { peers, onFailure })
    const secrets = sessionSecrets({ db, secret: SECRET, clock, onFailure })
    opened.push(ended, secrets)
    await ended.endedAt([])
    const open = createOpenSessions(() => clock.now())
    const options = { server: own, web, ended, open, secret: SECRET, clock, onFailure }
    const sessions = keptSessions(meshSessions(options), { ...options, secrets, maxAgeMs: maxAgeOf(web) })
    const closing: Promise<void>[] = []
    ended.onElsewhere((endings) => closing.push(sessions.endedElsewhere(endings)))
    const closed = async () => {
      await Promise.all(closing)
    }
    return { clock, web, ended, secrets, open, sessions, closed, failures }
  }
  const session = (handle: string, startedAt: number): SeenSession => ({
    user: USER,
    x: `x of ${handle}`,
    signIn: {
      ...{ domainKey: '', userId: '~oidc:1', issuer: 'https://idp', subject: '1' },
      ...{ sid: `sid of ${handle}`, startedAt, handle },
    },
  })
  const everythingOf = { domainKey: '', issuer: 'https://idp', subject: '1', sid: null }
  const until = async (is: () => boolean) => {
    while (!is()) await new Promise((resolve) => setImmediate(resolve))
  }

  it('learn at once what has ended, before the database has it', async () => {
    const bus = createBus()
    const rows = new Map<string, Members>()
    const here = await setUp(bus, { ...databaseOf(rows), Set: () => undefined })
    const there = await setUp(bus, databaseOf(rows))
    here.ended.revoke(['a'], 900, 50_000).catch(() => undefined)
    expect(there.ended.latest(['a'])).to.equal(900)
    expect(rows.size).to.equal(0)
  })

  it('close what is open of a session that ended elsewhere, and nothing that began later', async () => {
    const bus = createBus()
    const db = databaseOf()
    const [here, there] = [await setUp(bus, db), await setUp(bus, db)]
    const [own, sealed, unknown, later, sealedLater] = [socket(), socket(), socket(), socket(), socket()]
    const [before, after] = [session('before', 1_000), session('after', 15_001)]
    there.open.seen(before, own)
    there.open.seen(after, later)
    for (const [one, { signIn }] of [
      [sealed, before],
      [sealedLater, after],
    ] as const) {
      there.open.seenSealed({ kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }, USER, one)
    }
    there.open.seenSealed({ kind: 'unknown', sealedAt: 1 }, USER, unknown)
    const all = [own, sealed, unknown, later, sealedLater]
    const secrets = { idToken: 'an ID token', tokens: null }
    for (const { signIn } of [before, after]) there.secrets.keep({ ...signIn, ...secrets }, signIn.handle, 900_000)

    await here.sessions.endMatching({} as Request, everythingOf)
    await there.closed()
    expect(all.map(({ isOpen }) => isOpen)).to.deep.equal([false, false, true, true, true])
    expect(Object.keys(there.web.destroyedSessions)).to.deep.equal([`${USER}/${before.x}`])
    expect((await there.secrets.read('before')).idToken).to.equal(null)
    expect((await there.secrets.read('after')).idToken).to.equal('an ID token')

    // The last one of the user takes along what is of nobody knows whom.
    await here.ended.revoke([keyOfHandle('after')], 15_001, 900_000)
    await there.closed()
    expect(all.map(({ isOpen }) => isOpen)).to.deep.equal([false, false, false, false, false])
    expect(here.ended.latest([keyOfSealed(USER)])).to.equal(15_000)
  })

  it('end for MeshCentral a session of which only a web relay tells there, and none that began later', async () => {
    const bus = createBus()
    const db = databaseOf()
    const [here, there] = [await setUp(bus, db), await setUp(bus, db)]
    for (const { user, x, signIn } of [session('before', 1_000), session('after', 15_001)]) {
      there.open.relays.opened(user, { kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }, x)
    }
    await here.sessions.endMatching({} as Request, everythingOf)
    await there.closed()
    expect(Object.keys(there.web.destroyedSessions)).to.deep.equal([`${USER}/x of before`])
  })

  it('read in the database what they were not told, again and again', async () => {
    const bus = createBus()
    const db = databaseOf()
    const [here, there] = [await setUp(bus, db), await setUp(bus, db)]
    const [one, other] = [socket(), socket()]
    there.open.seen(session('one', 1_000), one)
    there.open.seen({ ...session('other', 1_000), user: 'user//~oidc:2' }, other)
    bus.part(true)
    for (const [handle, open] of [
      ['one', one],
      ['other', other],
    ] as const) {
      await here.ended.revoke([keyOfHandle(handle)], 2_000, 900_000)
      await there.clock.advance(29_999)
      expect(open.isOpen).to.equal(true)
      await there.clock.advance(1)
      await until(() => !open.isOpen)
      expect(there.ended.latest([keyOfHandle(handle)])).to.equal(2_000)
    }
  })

  it('tell once of a database that cannot be read again, and go on reading', async () => {
    const bus = createBus()
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
    const [here, there] = [await setUp(bus, db), await setUp(bus, flaky)]
    isBroken = true
    while (broken <= 2) await there.clock.advance(30_000)
    expect(there.failures).to.have.length(1)
    bus.part(true)
    await here.ended.revoke(['a'], 900, 50_000)
    isBroken = false
    while (there.ended.latest(['a']) !== 900) await there.clock.advance(30_000)
  })

  it('believe nothing that was not sealed with their secret', async () => {
    const bus = createBus()
    const there = await setUp(bus, databaseOf())
    const ending: Ending = { keys: ['a'], endedAt: 900, until: 50_000 }
    const forged: object[] = []
    const forger = {
      ...bus.join(),
      DispatchEvent: (_: readonly string[], _from: unknown, event: object | string) =>
        void forged.push(event as object),
    }
    meshPeers(forger, standIn().web, `${SECRET}, nearly`)?.tell(ending)
    meshPeers(forger, standIn().web, SECRET)?.tell(ending)
    const [foreign, genuine] = forged
    const action = 'meshcompanion'
    const huge = 'A'.repeat(100_000)
    for (const event of [
      foreign,
      { action, ...ending },
      { action, ended: ending },
      { action, ended: huge },
      { action },
      'a',
      null,
    ]) {
      bus.inject(event)
    }
    bus.inject({ ...genuine, action: 'another' })
    expect(there.ended.latest(['a'])).to.equal(undefined)
    bus.inject(genuine)
    expect(there.ended.latest(['a'])).to.equal(900)
  })

  it('write no key into logs of events, and tell nothing where there are none', async () => {
    const bus = createBus()
    const here = await setUp(bus, databaseOf())
    await here.ended.revoke(['a-key-of-what-ended'], 900, 50_000)
    expect(bus.passed).to.have.length(1)
    expect(bus.passed[0]).to.include({ action: 'meshcompanion', nolog: 1 })
    expect(JSON.stringify(bus.passed)).not.to.include('a-key')

    const { server, web, events } = standIn()
    expect(meshPeers(server, web, SECRET)).to.equal(undefined)
    const alone = endedInDatabase(server.db, new FakeClock(10_000))
    opened.push(alone)
    await alone.revoke(['a'], 900, 50_000)
    expect(events).to.deep.equal([])
  })

  it('count with clocks that are apart', async () => {
    const alone: Ended = endedInDatabase(databaseOf(), new FakeClock(10_000))
    opened.push(alone)
    expect(alone.isShared).to.equal(false)
    const here = await setUp(createBus(), databaseOf())
    await here.sessions.endMatching({} as Request, everythingOf)
    expect(here.ended.latest(keysOfOpen(session('any', 1).signIn))).to.equal(15_000)
  })

  it('listen no more once closed', async () => {
    const bus = createBus()
    const db = databaseOf()
    const [here, there] = [await setUp(bus, db), await setUp(bus, db)]
    there.ended.close()
    await here.ended.revoke(['a'], 900, 50_000)
    expect(there.ended.latest(['a'])).to.equal(undefined)
  })
})
