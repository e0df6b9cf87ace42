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

/** A store that cannot list its sessions. */
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
      listsSessions: tokens,
      library: 'express-session',
    },
  )
}

/** Sets the secret that seals sessions, as the plugin does first. */
const sealed = (sessions: Sessions) => {
  sessions.sealBy?.('a secret of the host with more than 32 characters')
  return sessions
}

describe('sessions over express-session, with a store that lists its sessions', () =>
  withStore(() => new MemoryStore()))

describe('sessions over express-session that keep their tokens', () => withStore(() => new MemoryStore(), true))

describe('sessions over express-session, with a store that cannot list its sessions', () =>
  withStore(() => new SilentStore()))

describe('sessions over express-session', () => {
  const { serve, newBrowser, cookiesOf, call, current, copyOf } = sessionServers()
  const cookie = { path: '/', sameSite: 'lax', httpOnly: true } as const
  const middleware = (sessionStore: MemoryStore) =>
    session({ secret: 'test', name: 'sid', store: sessionStore, resave: false, saveUninitialized: false, cookie })
  const sessions = expressSessions({ cookieName: 'sid', storeTimeoutMs: 1_000, clock })
  let store: MoodyStore
  let browser: ScriptedBrowser
  /** The ids in the store when a session has begun, but before the answer. */
  let idsAtStart: readonly string[]

  beforeEach(async () => {
    store = new MoodyStore(clock)
    const start: Sessions['start'] = async (...args) => {
      await sessions.start(...args)
      idsAtStart = store.ids()
    }
    await serve({ sessions: { ...sessions, start }, middleware: middleware(store) })
    browser = newBrowser()
  })

  const start = (changes: object = {}) => call(browser, 'start', { ...SIGN_IN, ...changes })
  const endAtIdp = () => call(browser, 'ended', { ...SIGN_IN, subject: null })
  const cookieOf = (owner: ScriptedBrowser) => cookiesOf(owner).find(({ name }) => name === 'sid')?.value

  it('a session is stored before the browser is redirected', async () => {
    await start()
    expect(idsAtStart).to.have.length(1)
  })

  // Shows: plugin 10.12.
  it('a new session begins under a new id, and ends the previous session', async () => {
    await call(browser, 'fill')
    const oldBrowser = copyOf(browser)
    const planted = store.ids()
    await start()
    expect(cookieOf(browser)).to.not.equal(cookieOf(oldBrowser))
    expect(store.ids()).to.have.length(1).and.not.include(planted[0])
    expect(await current(oldBrowser)).to.equal(null)
  })

  it('the end of a session removes its cookie and all its entries in the store', async () => {
    await start()
    await call(browser, 'end')
    expect(cookieOf(browser)).to.equal(undefined)
    expect(store.entries()).to.deep.equal([])
  })

  describe('session with a sid of the IdP', () => {
    const requestWith = (sessionStore: MemoryStore) => ({ sessionStore: sessionStore }) as unknown as Request
    const named = (sid: string) => ({ ...SIGN_IN, subject: null, sid })
    /** Sessions as another process of the server, or the next one, opens them. */
    const openAgain = () => expressSessions({ cookieName: 'sid', clock })

    // Shows: plugin 9.10.
    it('other processes report a sid as known until the last session with that sid ends', async () => {
      await start()
      const otherBrowser = newBrowser()
      await call(otherBrowser, 'start', SIGN_IN)
      const knows = () => openAgain().knows?.(requestWith(store), named('s-1'))
      expect(await knows()).to.equal(true)
      await call(browser, 'end')
      expect(await knows()).to.equal(true)
      await call(otherBrowser, 'end')
      expect(await knows()).to.equal(false)
      expect(store.entries()).to.deep.equal([])
    })

    it('a session can be ended by its sid from another server process', async () => {
      await start()
      await openAgain().endMatching(requestWith(store), named('s-1'))
      expect(await openAgain().knows?.(requestWith(store), named('s-1'))).to.equal(false)
      expect(store.entries()).to.deep.equal([])
      expect(await current(browser)).to.equal(null)
    })

    // Shows: plugin 9.10.
    it('looking up an unknown sid costs the same with 200 stored sessions as with one', async () => {
      const operations = async () => {
        const calls: string[] = []
        const watched = new Proxy(store, {
          get(target, name) {
            const member: unknown = Reflect.get(target, name)
            if (typeof member !== 'function') return member
            return (...args: readonly unknown[]) => {
              calls.push(String(name))
              return Reflect.apply(member, target, args)
            }
          },
        })
        for (const sessions of [openAgain(), firstProcess])
          expect(await sessions.knows?.(requestWith(watched), named('made up'))).to.equal(false)
        return calls
      }
      const firstProcess = sessions
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
    it(`refuses a stored session whose ${name} is ${JSON.stringify(value) ?? 'missing'}`, async () => {
      expect((await start({ [name]: value })).error).to.equal(undefined)
      expect(await current(browser)).to.equal(null)
    })
  }

  for (const [mood, words] of [
    ['failing', 'could not'],
    ['hanging', 'took too long to'],
  ] as const) {
    it(`a login fails while the store is ${mood}, and no session is saved later`, async () => {
      Object.assign(store, { mood, only: 'set' })
      expect((await start()).error).to.equal(`The session store ${words} save the session.`)
      store.mood = 'fine'
      expect(cookieOf(browser)).to.equal(undefined)
      expect(store.ids()).to.deep.equal([])
    })

    it(`a second login fails if the store is ${mood} when the old session is removed`, async () => {
      await start()
      Object.assign(store, { mood, only: 'destroy' })
      const { error } = await start({ userId: '~oidc:u-2' })
      expect(error).to.equal(`The session store ${words} replace the session.`)
      store.mood = 'fine'
      expect((await current(browser))?.userId).to.not.equal('~oidc:u-2')
    })

    it(`the end of a session clears its cookie even while the store is ${mood}`, async () => {
      await start()
      Object.assign(store, { mood, only: 'destroy' })
      expect((await call(browser, 'end')).error).to.equal(`The session store ${words} end the session.`)
      expect(cookieOf(browser)).to.equal(undefined)
    })

    for (const only of ['all', 'destroy'] as const) {
      it(`a session that the IdP ended is invalid even if store.${only}() is ${mood}`, async () => {
        await start()
        Object.assign(store, { mood, only })
        expect((await endAtIdp()).error).to.match(/^The session store (could not|took too long to) /)
        store.mood = 'fine'
        expect(await current(browser)).to.equal(null)
      })
    }
  }

  it('a session that the IdP ended is deleted even if the store cannot list sessions', async () => {
    for (const sessionStore of [store, new SilentStore()]) {
      await serve({ sessions, middleware: middleware(sessionStore) })
      for (const sid of ['s-1', 's-2', 's-1']) await call(newBrowser(), 'start', { ...SIGN_IN, sid })
      expect(sessionStore.ids()).to.have.length(3)
      await endAtIdp()
      expect(sessionStore.ids()).to.have.length(1)
    }
  })

  for (const [cause, route] of [
    ['a logout', 'end'],
    ['another login in the same browser', 'start'],
    ['an IdP', 'ended'],
  ] as const) {
    // Shows: plugin 9.23.
    it(`no pending request restores a session that was ended by ${cause}`, async () => {
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
      expect(await current(copy)).to.equal(null)
      expect((await call(copy, 'basket')).result).to.equal('full')
    })
  }

  // Shows: plugin 9.15.
  it("one process at a time gets a session's lease, and reads the latest tokens", async () => {
    const used = new Set<string>()
    const revocations: RevocationStore = {
      ...memoryRevocations({ now: () => clock.now() }),
      isShared: true,
      once: async (key) => !used.has(key) && used.add(key).has(key),
      release: async (key) => void used.delete(key),
    }
    const openProcess = async (work: () => Promise<unknown>) => {
      const sessions = sealed(expressSessions({ cookieName: 'sid', clock, tokens: true, revocations }))
      await serve({ sessions: sessions, middleware: middleware(store) })
      await work()
      const [session] = sessions.inUse?.('', 0) ?? []
      return { session, lease: () => sessions.lease?.(session?.id ?? '') }
    }
    const [first, second] = [await openProcess(start), await openProcess(() => current(browser))]
    const release = await first.lease()
    expect(await second.lease()).to.equal(null)
    const fresh = { idToken: 'new', tokens: { access: 'new', accessExpiresAt: null, refresh: 'next' }, renewedAt: 7 }
    await first.session?.write?.(fresh)
    await release?.()
    expect(await second.lease()).to.be.a('function')
    expect(await second.session?.read()).to.deep.equal(fresh)
  })
})
