import { EventEmitter, once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import session, { MemoryStore, type SessionData } from 'express-session'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { expressSessions } from '../../../plugin/host/express-session.ts'
import type { Sessions, SignIn } from '../../../plugin/host/port.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { sessionsContract } from './sessions.contract.ts'

const clock = new FakeClock()

const SIGN_IN: SignIn = {
  domainKey: '',
  userId: '~oidc:u-1',
  issuer: 'https://idp.example',
  subject: 'u-1',
  sid: 'idp-session',
  startedAt: clock.now(),
  idToken: 'header.claims.signature',
  tokens: { access: 'an access token', accessExpiresAt: null, refresh: 'a refresh token' },
}

/** A store whose operations can be made to fail or to hang. */
class MoodyStore extends MemoryStore {
  mood: 'fine' | 'failing' | 'hanging' = 'fine'
  only: 'set' | 'destroy' | 'all' | 'any' = 'any'

  override set(sid: string, data: SessionData, done?: (error?: unknown) => void): void {
    this.#run('set', done, () => super.set(sid, data, done ?? (() => undefined)))
  }
  override destroy(sid: string, done?: (error?: unknown) => void): void {
    this.#run('destroy', done, () => super.destroy(sid, done ?? (() => undefined)))
  }
  override all(done: (error: unknown, sessions?: Record<string, SessionData> | null) => void): void {
    this.#run('all', done, () => super.all(done))
  }
  ids(): string[] {
    return Object.keys(Reflect.get(this as object, 'sessions'))
  }
  #run(operation: 'set' | 'destroy' | 'all', done: ((error?: unknown) => void) | undefined, work: () => void): void {
    if (this.mood === 'fine' || (this.only !== 'any' && this.only !== operation)) work()
    else if (this.mood === 'failing') done?.(new Error('the disk is full'))
    // For as long as it may take, and then some.
    else setImmediate(() => clock.advance(2_000))
  }
}

/** One that cannot list its sessions. */
class SilentStore extends MemoryStore {
  ids(): string[] {
    return Object.keys(Reflect.get(this as object, 'sessions'))
  }
}
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
    { counts: newStore() instanceof SilentStore === false, keepsTokens: !tokens, tells: tokens },
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
  let store: MoodyStore
  let server: Server
  let url: string
  let browser: ScriptedBrowser
  let signIn: unknown
  const underWay = new EventEmitter()
  const sessions = expressSessions({ cookieName: 'sid', storeTimeoutMs: 1_000, clock })

  beforeEach(async () => {
    store = new MoodyStore()
    signIn = SIGN_IN
    const app = express()
    app.get('/without-middleware', async (req, res) => {
      res.json({
        current: (await sessions.current(req)) ?? null,
        start: await outcome(sessions.start(req, res, SIGN_IN)),
      })
    })
    const cookie = { path: '/', sameSite: 'lax', httpOnly: true } as const
    app.use(session({ secret: 'test', name: 'sid', store, resave: false, saveUninitialized: false, cookie }))
    app.get('/start', async (req, res) => {
      res.json({ outcome: await outcome(sessions.start(req, res, signIn as SignIn)), stored: store.ids() })
    })
    app.get('/end', async (req, res) => {
      res.json({ outcome: await outcome(sessions.end(req, res)) })
    })
    app.get('/ended', async (req, res) => {
      const { domainKey, issuer, sid } = SIGN_IN
      const ended = sessions.endMatching(req, { domainKey, issuer, subject: null, sid })
      res.json({ outcome: await outcome(ended.then(() => undefined)) })
    })
    app.get('/slow', (req, res) => {
      Reflect.set(req.session, 'basket', 'full')
      underWay.emit('reached', () => res.json({}))
    })
    app.get('/basket', (req, res) => {
      Reflect.set(req.session, 'basket', 'full')
      res.json({})
    })
    app.get('/', async (req, res) => {
      res.json({ current: (await sessions.current(req)) ?? null, basket: Reflect.get(req.session, 'basket') ?? null })
    })
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = new ScriptedBrowser()
  })
  afterEach(async () => {
    browser.close()
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })

  const outcome = (work: Promise<void>) =>
    work.then(
      () => 'done',
      (error: Error) => error.message,
    )
  const get = async (path: string) => JSON.parse((await browser.step(`${url}${path}`)).body)
  const cookie = () => browser.cookies.matching(new URL(url)).find(({ name }) => name === 'sid')?.value

  it('remember the whole sign-in', async () => {
    await get('/start')
    expect((await get('/')).current).to.deep.equal(SIGN_IN)
  })

  it('are in the store before the browser is sent on', async () => {
    expect((await get('/start')).stored).to.have.length(1)
  })

  it('begin under a new id, with nothing of the session before, which is gone', async () => {
    await get('/basket')
    const before = cookie()
    const planted = store.ids()
    await get('/start')

    expect(cookie()).to.not.equal(before)
    expect(store.ids()).to.have.length(1).and.not.include(planted[0])
    expect((await get('/')).basket).to.equal(null)
    browser.cookies.plant(new URL(url), 'sid', before ?? '')
    expect((await get('/')).current).to.equal(null)
  })

  it('begin anew when somebody was signed in', async () => {
    await get('/start')
    const before = cookie()
    signIn = { ...SIGN_IN, userId: '~oidc:u-2' }
    await get('/start')

    expect((await get('/')).current.userId).to.equal('~oidc:u-2')
    browser.cookies.plant(new URL(url), 'sid', before ?? '')
    expect((await get('/')).current).to.equal(null)
  })

  it('end here and in the browser', async () => {
    await get('/start')
    const before = cookie()
    expect((await get('/end')).outcome).to.equal('done')

    expect(cookie()).to.equal(undefined)
    expect(store.ids()).to.deep.equal([])
    browser.cookies.plant(new URL(url), 'sid', before ?? '')
    expect((await get('/')).current).to.equal(null)
  })

  it('end without complaint where there is none', async () => {
    expect((await get('/end')).outcome).to.equal('done')
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
      signIn = { ...SIGN_IN, [name]: value }
      expect((await get('/start')).outcome).to.equal('done')
      expect((await get('/')).current).to.equal(null)
    })
  }

  it('know sign-ins without a session id of the IdP', async () => {
    signIn = { ...SIGN_IN, sid: null }
    await get('/start')
    expect((await get('/')).current.sid).to.equal(null)
  })

  for (const [mood, words] of [
    ['failing', 'could not'],
    ['hanging', 'took too long to'],
  ] as const) {
    it(`do not begin when the store is ${mood}, not even at the end of the request`, async () => {
      Object.assign(store, { mood, only: 'set' })
      expect((await get('/start')).outcome).to.equal(`The session store ${words} save the session.`)
      store.mood = 'fine'
      expect(cookie()).to.equal(undefined)
      expect(store.ids()).to.deep.equal([])
      expect((await get('/')).current).to.equal(null)
    })

    it(`say so when the store is ${mood} and the session before cannot be ended`, async () => {
      await get('/start')
      Object.assign(store, { mood, only: 'destroy' })
      signIn = { ...SIGN_IN, userId: '~oidc:u-2' }
      expect((await get('/start')).outcome).to.equal(`The session store ${words} replace the session.`)
      store.mood = 'fine'
      expect((await get('/')).current?.userId).to.not.equal('~oidc:u-2')
    })

    it(`leave the browser even when the store is ${mood} and cannot end them`, async () => {
      await get('/start')
      Object.assign(store, { mood, only: 'destroy' })
      expect((await get('/end')).outcome).to.equal(`The session store ${words} end the session.`)
      expect(cookie()).to.equal(undefined)
    })
  }

  it('that an IdP ended are gone from the store, from one that cannot list them too', async () => {
    for (const kind of ['listing', 'silent'] as const) {
      const kept = kind === 'listing' ? store : new SilentStore()
      const own = expressSessions({ cookieName: 'sid', clock })
      const app = express()
      app.use(session({ secret: 'test', name: 'sid', store: kept, resave: false, saveUninitialized: false }))
      app.get('/start/:sid', async (req, res) => {
        await own.start(req, res, { ...SIGN_IN, sid: req.params.sid })
        res.json({})
      })
      app.get('/ended', async (req, res) => {
        const { domainKey, issuer, subject } = SIGN_IN
        res.json({ ended: await own.endMatching(req, { domainKey, issuer, subject, sid: 'one' }) })
      })
      const other = app.listen(0, '127.0.0.1')
      await once(other, 'listening')
      const base = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
      for (const sid of ['one', 'two', 'one']) await fetch(`${base}/start/${sid}`)
      expect(kept.ids()).to.have.length(3)
      expect(await (await fetch(`${base}/ended`)).json()).to.deep.equal({ ended: kind === 'listing' ? 2 : null })
      expect(kept.ids(), kind).to.have.length(1)
      const closed = once(other, 'close')
      other.close()
      other.closeAllConnections()
      await closed
    }
  })

  it('that an IdP ended stay ended when a request under way puts them back into the store', async () => {
    await get('/start')
    const [id = ''] = store.ids()
    const record = (Reflect.get(store as object, 'sessions') as Record<string, string>)[id] ?? ''
    await get('/ended')
    expect(store.ids()).to.deep.equal([])
    store.set(id, JSON.parse(record))
    expect((await get('/')).current).to.equal(null)
  })

  for (const [how, path] of [
    ['a logout', '/end'],
    ['another login in the same browser', '/start'],
  ] as const) {
    it(`that ended by ${how} stay ended when a request under way writes them back`, async () => {
      signIn = { ...SIGN_IN, subject: 'u-2', sid: null, startedAt: clock.now() }
      await get('/start')
      expect((await get('/')).current).to.include({ subject: 'u-2' })
      const [id = ''] = store.ids()
      const cookie = browser.cookies.header(new URL(url)) ?? ''
      const reached = once(underWay, 'reached')
      const slow = fetch(`${url}/slow`, { headers: { cookie } })
      const [finish] = (await reached) as [() => void]
      await get(path)
      expect(store.ids()).not.to.include(id)
      finish()
      await (await slow).text()
      expect(store.ids()).to.include(id)
      const answer = await fetch(`${url}/`, { headers: { cookie } })
      expect(await answer.json()).to.deep.equal({ current: null, basket: 'full' })
    })
  }

  for (const only of ['all', 'destroy'] as const) {
    for (const mood of ['failing', 'hanging'] as const) {
      it(`that an IdP ended are reported as not ended when the store is ${mood} at ${only}, and count no more`, async () => {
        await get('/start')
        Object.assign(store, { mood, only })
        expect((await get('/ended')).outcome).to.match(/^The session store (could not|took too long to) /)
        store.mood = 'fine'
        expect((await get('/')).current).to.equal(null)
      })
    }
  }

  it('tell a host what it forgot when the middleware is missing', async () => {
    const { current, start } = await get('/without-middleware')
    expect(current).to.equal(null)
    expect(start).to.equal('There is no session: express-session has to be used before the plugin.')
  })
})
