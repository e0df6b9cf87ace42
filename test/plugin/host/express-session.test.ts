import { expect } from 'chai'
import type { Request } from 'express'
import session, { MemoryStore } from 'express-session'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { expressSessions } from '../../../plugin/host/express-session.ts'
import type { Sessions } from '../../../plugin/host/port.ts'
import type { RevocationStore } from '../../../plugin/host/revocation-store.ts'
import { memoryRevocations } from '../../../plugin/host/revocations.ts'
import { deferred } from '../../support/deferred.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { MoodyStore } from './moody-store.ts'
import { sessionServers, signInAt } from './session-server.ts'
import { sessionsContract } from './sessions.contract.ts'

const clock = new FakeClock(Date.UTC(2030, 0, 1))

const SIGN_IN = signInAt(clock.now(), { tokens: { access: 'x', accessExpiresAt: null, refresh: null } })

/** One that cannot list its sessions. */
class SilentStore extends MoodyStore {}
Object.defineProperty(SilentStore.prototype, 'all', { value: undefined })

const withStore = (newStore: () => MemoryStore, tokens = false) => {
  let store: MemoryStore
  // A store outlives its server, like a database.
  beforeEach(() => {
    store = newStore()
  })
  sessionsContract(
    (wanted) => ({
      sessions: sealed(expressSessions({ ...wanted, tokens })),
      middleware: session({ secret: 'test', store, resave: false, saveUninitialized: false }),
    }),
    {
      counts: newStore() instanceof SilentStore === false,
      keepsTokens: !tokens,
      tells: tokens,
      library: 'express-session',
    },
  )
}

/** As the plugin does it first of all. */
const sealed = (sessions: Sessions) => {
  sessions.sealBy?.('a secret of the host with more than 32 characters')
  return sessions
}

describe('Sessions over express-session, with a store that lists its sessions', () =>
  withStore(() => new MemoryStore()))

describe('Sessions over express-session that keep their tokens', () => withStore(() => new MemoryStore(), true))

describe('Sessions over express-session, with a store that cannot', () => withStore(() => new SilentStore()))

describe('Sessions over express-session', () => {
  const { serve, newBrowser, cookiesOf, call, current, copyOf } = sessionServers()
  const cookie = { path: '/', sameSite: 'lax', httpOnly: true } as const
  const middleware = (kept: MemoryStore) =>
    session({ secret: 'test', name: 'sid', store: kept, resave: false, saveUninitialized: false, cookie })
  const sessions = expressSessions({ cookieName: 'sid', storeTimeoutMs: 1_000, clock })
  let store: MoodyStore
  let browser: ScriptedBrowser
  /** Ids in the store when a session has begun, and the answer has not. */
  let begun: readonly string[]

  beforeEach(async () => {
    store = new MoodyStore(clock)
    const start: Sessions['start'] = async (...args) => {
      await sessions.start(...args)
      begun = store.ids()
    }
    await serve({ sessions: { ...sessions, start }, middleware: middleware(store) })
    browser = newBrowser()
  })

  const start = (changes: object = {}) => call(browser, 'start', { ...SIGN_IN, ...changes })
  const endAtIdp = () => call(browser, 'ended', { ...SIGN_IN, subject: null })
  const cookieOf = (one: ScriptedBrowser) => cookiesOf(one).find(({ name }) => name === 'sid')?.value

  it('are in the store before the browser is sent on', async () => {
    await start()
    expect(begun).to.have.length(1)
  })

  // Shows: plugin 10.12.
  it('begin under a new id: the session before is gone', async () => {
    await call(browser, 'fill')
    const before = copyOf(browser)
    const planted = store.ids()
    await start()
    expect(cookieOf(browser)).to.not.equal(cookieOf(before))
    expect(store.ids()).to.have.length(1).and.not.include(planted[0])
    expect(await current(before)).to.equal(null)
  })

  it('leave neither the cookie nor anything in the store when they end', async () => {
    await start()
    await call(browser, 'end')
    expect([cookieOf(browser), store.entries()]).to.deep.equal([undefined, []])
  })

  describe('of which an IdP names one by its sid', () => {
    const at = (kept: MemoryStore) => ({ sessionStore: kept }) as unknown as Request
    const named = (sid: string) => ({ ...SIGN_IN, subject: null, sid })
    /** Another process of the server, or the next one. */
    const another = () => expressSessions({ cookieName: 'sid', clock })

    // Shows: plugin 9.10.
    it('are known to a process that has not seen them, until the last one ends', async () => {
      await start()
      const other = newBrowser()
      await call(other, 'start', SIGN_IN)
      const knows = () => another().knows?.(at(store), named('s-1'))
      expect(await knows()).to.equal(true)
      await call(browser, 'end')
      expect(await knows()).to.equal(true)
      await call(other, 'end')
      expect([await knows(), store.entries()]).to.deep.equal([false, []])
    })

    it('end by it at a process that has not seen them, and are known no more', async () => {
      await start()
      await another().endMatching(at(store), named('s-1'))
      expect([await another().knows?.(at(store), named('s-1')), store.entries()]).to.deep.equal([false, []])
      expect(await current(browser)).to.equal(null)
    })

    // Shows: plugin 9.10.
    it('an unknown sid costs the same store operations at 200 sessions as at one', async () => {
      const operations = async () => {
        const done: string[] = []
        const watched = new Proxy(store, {
          get(target, name) {
            const member: unknown = Reflect.get(target, name)
            if (typeof member !== 'function') return member
            return (...given: readonly unknown[]) => {
              done.push(String(name))
              return Reflect.apply(member, target, given)
            }
          },
        })
        for (const sessions of [another(), here])
          expect(await sessions.knows?.(at(watched), named('made up'))).to.equal(false)
        return done
      }
      const here = sessions
      await start()
      const few = await operations()
      for (let count = 1; count < 200; count += 1) await call(newBrowser(), 'start', { ...SIGN_IN, sid: `s-${count}` })
      expect(await operations()).to.deep.equal(few)
      expect(few).to.deep.equal(['get', 'get'])
    })
  })

  for (const [name, value] of [
    ['domainKey', undefined],
    ['userId', 'u-1'],
    ['userId', '~oidc:'],
    ['issuer', 7],
    ['subject', null],
    ['sid', undefined],
    ['startedAt', undefined],
    ['startedAt', '7'],
    ['idToken', {}],
    ['tokens', undefined],
    ['tokens', { access: 'x', accessExpiresAt: null }],
    ['tokens', { access: 'x', accessExpiresAt: '7', refresh: null }],
    ['tokens', { access: 7, accessExpiresAt: null, refresh: null }],
  ] as const) {
    it(`are not signed in when the store hands back ${JSON.stringify(value) ?? 'nothing'} as ${name}`, async () => {
      expect((await start({ [name]: value })).error).to.equal(undefined)
      expect(await current(browser)).to.equal(null)
    })
  }

  for (const [mood, words] of [
    ['failing', 'could not'],
    ['hanging', 'took too long to'],
  ] as const) {
    it(`do not begin when the store is ${mood}, not even at the end of the request`, async () => {
      Object.assign(store, { mood, only: 'set' })
      expect((await start()).error).to.equal(`The session store ${words} save the session.`)
      store.mood = 'fine'
      expect([cookieOf(browser), store.ids()]).to.deep.equal([undefined, []])
    })

    it(`say so when the store is ${mood} and the session before cannot be ended`, async () => {
      await start()
      Object.assign(store, { mood, only: 'destroy' })
      const { error } = await start({ userId: '~oidc:u-2' })
      expect(error).to.equal(`The session store ${words} replace the session.`)
      store.mood = 'fine'
      expect((await current(browser))?.userId).to.not.equal('~oidc:u-2')
    })

    it(`leave the browser even when the store is ${mood} and cannot end them`, async () => {
      await start()
      Object.assign(store, { mood, only: 'destroy' })
      expect((await call(browser, 'end')).error).to.equal(`The session store ${words} end the session.`)
      expect(cookieOf(browser)).to.equal(undefined)
    })

    for (const only of ['all', 'destroy'] as const) {
      it(`that an IdP ended are reported as not ended when the store is ${mood} at ${only}, and count no more`, async () => {
        await start()
        Object.assign(store, { mood, only })
        expect((await endAtIdp()).error).to.match(/^The session store (could not|took too long to) /)
        store.mood = 'fine'
        expect(await current(browser)).to.equal(null)
      })
    }
  }

  it('that an IdP ended are gone from the store, from one that cannot list them too', async () => {
    for (const kept of [store, new SilentStore()]) {
      await serve({ sessions, middleware: middleware(kept) })
      for (const sid of ['s-1', 's-2', 's-1']) await call(newBrowser(), 'start', { ...SIGN_IN, sid })
      expect(kept.ids()).to.have.length(3)
      await endAtIdp()
      expect(kept.ids()).to.have.length(1)
    }
  })

  for (const [how, route] of [
    ['a logout', 'end'],
    ['another login in the same browser', 'start'],
    ['an IdP', 'ended'],
  ] as const) {
    // Shows: plugin 9.23.
    it(`that ended by ${how} stay ended when a request under way writes them back`, async () => {
      const [reached, finish] = [deferred(), deferred()]
      await serve({ sessions, middleware: middleware(store) }, () => {
        reached.resolve()
        return finish.promise
      })
      await start()
      const [id = ''] = store.ids()
      const copy = copyOf(browser)
      const slow = call(copy, 'fill')
      await reached.promise
      await call(browser, route, SIGN_IN)
      expect(store.ids()).not.to.include(id)
      finish.resolve()
      await slow
      expect(store.ids()).to.include(id)
      expect([await current(copy), (await call(copy, 'basket')).result]).to.deep.equal([null, 'full'])
    })
  }

  // Shows: plugin 9.15.
  it('are lent to one process at a time where revocations are shared, which sees what another one has written', async () => {
    const used = new Set<string>()
    const revocations: RevocationStore = {
      ...memoryRevocations({ now: () => clock.now() }),
      isShared: true,
      once: async (key) => !used.has(key) && used.add(key).has(key),
      release: async (key) => void used.delete(key),
    }
    const seenBy = async (work: () => Promise<unknown>) => {
      const own = sealed(expressSessions({ cookieName: 'sid', clock, tokens: true, revocations }))
      await serve({ sessions: own, middleware: middleware(store) })
      await work()
      const [session] = own.inUse?.('', 0) ?? []
      return { session, lease: () => own.lease?.(session?.id ?? '') }
    }
    const [one, other] = [await seenBy(start), await seenBy(() => current(browser))]
    const release = await one.lease()
    expect(await other.lease()).to.equal(null)
    const fresh = { idToken: 'new', tokens: { access: 'new', accessExpiresAt: null, refresh: 'next' }, renewedAt: 7 }
    await one.session?.write?.(fresh)
    await release?.()
    expect(await other.lease()).to.be.a('function')
    expect(await other.session?.read()).to.deep.equal(fresh)
  })
})
