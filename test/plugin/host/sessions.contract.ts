import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import type { Clock } from '../../../plugin/clock.ts'
import type { SessionFilter, SignIn } from '../../../plugin/host/port.ts'
import type { RevocationStore } from '../../../plugin/host/revocation-store.ts'
import { memoryRevocations } from '../../../plugin/host/revocations.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type SessionsUnderTest, sessionServers, signInAt } from './session-server.ts'

const HOUR_MS = 60 * 60_000

export interface SessionsWanted {
  readonly revocations: RevocationStore
  readonly clock: Clock
  readonly maxAgeMs: number
  readonly storeTimeoutMs: number
}

/** Whether ended sessions can be counted, tokens are kept, and sessions of other browsers can be listed. */
export interface SessionsTraits {
  readonly counts: boolean
  readonly keepsTokens: boolean
  readonly listsSessions: boolean
  /** The library that provides the middleware. */
  readonly library: string
}

/** Defines tests that all sessions must pass. `open` is called again for a restart, and keeps what survives one. */
export function sessionsContract(open: (wanted: SessionsWanted) => SessionsUnderTest, traits: SessionsTraits): void {
  let clock: FakeClock
  let mood: 'fine' | 'failing' | 'hanging'
  let revocations: RevocationStore

  const moody: RevocationStore = {
    revoke: (...args) => inMood(() => revocations.revoke(...args)),
    endedAt: (keys) => inMood(() => revocations.endedAt(keys)),
  }
  function inMood<Result>(work: () => Promise<Result>): Promise<Result> {
    if (mood === 'hanging') {
      // Longer than the time limit.
      setImmediate(() => clock.advance(2_000))
      return new Promise(() => undefined)
    }
    return mood === 'failing' ? Promise.reject(new Error('the disk is full')) : work()
  }

  const { serve: serveWith, newBrowser, call, current, copyOf } = sessionServers()
  const opened = () => open({ revocations: moody, clock, maxAgeMs: 12 * HOUR_MS, storeTimeoutMs: 1_000 })
  const serve = () => serveWith(opened())

  beforeEach(async () => {
    clock = new FakeClock(Date.UTC(2030, 0, 1))
    mood = 'fine'
    revocations = memoryRevocations({ now: () => clock.now() })
    await serve()
  })
  const signIn = (changes: Partial<SignIn> = {}) => signInAt(clock.now(), changes)
  const started = async (changes?: Partial<SignIn>) => {
    const browser = newBrowser()
    expect((await call(browser, 'start', signIn(changes))).error).to.equal(undefined)
    return browser
  }
  const isSignedIn = async (browser: ScriptedBrowser) => (await current(browser)) !== null
  const areSignedIn = (...all: readonly ScriptedBrowser[]) => Promise.all(all.map(isSignedIn))
  const ended = (changes: Partial<SessionFilter>): SessionFilter => ({
    domainKey: '',
    issuer: 'https://idp.example',
    subject: null,
    sid: null,
    ...changes,
  })
  const end = async (changes: Partial<SessionFilter>) => call(newBrowser(), 'ended', ended(changes))

  it('a session is valid only while its issuer is accepted', async () => {
    const underTest = opened()
    let accepted = true
    underTest.sessions.acceptIssuers?.(({ domainKey, issuer }) => accepted && domainKey === '' && issuer !== '')
    await serveWith(underTest)
    const browser = await started()
    expect(await current(browser)).to.not.equal(null)
    accepted = false
    expect(await current(browser)).to.equal(null)
    accepted = true
    expect(await current(browser)).to.not.equal(null)
  })

  it("a session's data can be read in the login request itself and in the next request", async () => {
    const expected = signIn(traits.keepsTokens ? {} : { idToken: null, tokens: null })
    const browser = newBrowser()
    const { result } = await call(browser, 'start', signIn())
    expect(result).to.deep.include({ userId: '~oidc:u-1', subject: 'u-1', sid: 's-1' })
    expect(await current(browser)).to.deep.equal(expected)
  })

  it('signing in fails and names the missing middleware if the request has no session', async () => {
    await serveWith({ ...opened(), middleware: (_req, _res, next) => next() })
    const browser = newBrowser()
    expect(await current(browser)).to.equal(null)
    const { error } = await call(browser, 'start', signIn())
    expect(error).to.equal(`The request has no session. Install ${traits.library} before the plugin.`)
  })

  it('a session begins without the data of the previous session', async () => {
    const browser = newBrowser()
    await call(browser, 'fill')
    expect((await call(browser, 'basket')).result).to.equal('full')
    await call(browser, 'start', signIn())
    expect((await call(browser, 'basket')).result).to.equal(null)
  })

  it('a login as another user invalidates all copies of the previous session cookies', async () => {
    const browser = await started()
    const copy = copyOf(browser)
    expect(await isSignedIn(copy)).to.equal(true)
    await call(browser, 'start', signIn({ userId: '~oidc:u-2', subject: 'u-2' }))
    expect((await current(browser))?.userId).to.equal('~oidc:u-2')
    expect(await isSignedIn(copy)).to.equal(false)
  })

  it('ending a session twice succeeds, and invalidates every copy of its cookies', async () => {
    const browser = await started()
    const copy = copyOf(browser)
    for (const visitor of [browser, browser]) expect((await call(visitor, 'end')).error).to.equal(undefined)
    expect(await areSignedIn(browser, copy)).to.deep.equal([false, false])
  })
  it('a session expires after maxAgeMs even while in use', async () => {
    const browser = await started()
    await clock.advance(12 * HOUR_MS - 1)
    expect(await isSignedIn(browser)).to.equal(true)
    await clock.advance(1)
    expect(await isSignedIn(browser)).to.equal(false)
  })

  describe('session ended by the IdP', () => {
    const OTHER = { userId: '~oidc:u-2', subject: 'u-2' } as const
    for (const [title, signIns, filter, remaining] of [
      [
        'a filter by sid ends only the session with that sid',
        [{}, { sid: 's-2' }, { ...OTHER, sid: 's-3' }],
        { sid: 's-1' },
        [1, 2],
      ],
      ['a filter by subject ends all sessions of the subject', [{}, { sid: null }, OTHER], { subject: 'u-1' }, [2]],
      [
        "a filter by subject and sid also ends the subject's sessions without sid",
        [{}, { sid: null }, { sid: 's-2' }, { ...OTHER, sid: 's-1' }],
        { subject: 'u-1', sid: 's-1' },
        [2, 3],
      ],
    ] as const) {
      it(title, async () => {
        const all: ScriptedBrowser[] = []
        for (const changes of signIns) all.push(await started(changes))
        const count = signIns.length - remaining.length
        expect((await end(filter)).result).to.equal(traits.counts ? count : null)
        expect(await areSignedIn(...all)).to.deep.equal(
          all.map((_, index) => remaining.some((position) => position === index)),
        )
      })
    }

    it('refuses a session filter without subject and sid, and ends no session', async () => {
      const browser = await started()
      expect((await end({})).error).to.equal('A session filter needs a subject or a sid.')
      expect(await isSignedIn(browser)).to.equal(true)
    })

    it('no session begins if the IdP ended a session with the same sid during the login', async () => {
      const login = signIn()
      await clock.advance(1000)
      await end({ sid: 's-1' })
      const browser = newBrowser()
      expect((await call(browser, 'start', login)).result).to.equal(null)
      expect(await isSignedIn(browser)).to.equal(false)
    })

    it('a later login begins a new session, even with the sid of an ended session', async () => {
      await started()
      await end({ subject: 'u-1' })
      await end({ sid: 's-1' })
      await clock.advance(1)
      expect(await isSignedIn(await started())).to.equal(true)
    })

    it('an ended session stays ended after a restart', async () => {
      const [first, second] = [await started(), await started({ sid: 's-2' })]
      await end({ sid: 's-1' })
      await call(second, 'end')
      const copy = copyOf(second)
      await serve()
      expect(await areSignedIn(first, copy)).to.deep.equal([false, false])
    })

    it('a session that the IdP ended stays invalid until it would have expired', async () => {
      const browser = await started()
      await clock.advance(11 * HOUR_MS)
      await end({ sid: 's-1' })
      await clock.advance(HOUR_MS - 1)
      expect(await isSignedIn(browser)).to.equal(false)
    })

    for (const trouble of ['failing', 'hanging'] as const) {
      it(`a session that the IdP ended is invalid while the revocation store is ${trouble}`, async () => {
        const browser = await started()
        mood = trouble
        expect((await end({ sid: 's-1' })).error).to.be.a('string')
        expect((await call(browser, 'current')).error).to.be.a('string')
        mood = 'fine'
        expect((await end({ sid: 's-1' })).error).to.equal(undefined)
        expect(await isSignedIn(browser)).to.equal(false)
      })
    }
  })

  const lists = traits.listsSessions ? 'lists' : 'does not list'
  it(`${lists} sessions that began in other browsers, with their data`, async () => {
    await started()
    await started({ sid: 's-2' })
    await started({ userId: '~oidc:u-2', subject: 'u-2' })
    const matching = async (changes: Partial<SessionFilter>) => {
      const { result } = (await call(newBrowser(), 'matching', ended(changes))) as { result: SignIn[] | null }
      return result?.toSorted((a, b) => String(a.sid).localeCompare(String(b.sid))) ?? null
    }
    if (!traits.listsSessions) {
      expect(await matching({ subject: 'u-1' })).to.equal(null)
      return
    }
    expect(await matching({ subject: 'u-1' })).to.deep.equal([signIn(), signIn({ sid: 's-2' })])
    expect(await matching({ sid: 's-2' })).to.deep.equal([signIn({ sid: 's-2' })])
    expect(await matching({ subject: 'u-1', domainKey: 'customer' })).to.deep.equal([])
    await end({ sid: 's-2' })
    expect(await matching({ subject: 'u-1' })).to.deep.equal([signIn()])
    await clock.advance(12 * HOUR_MS)
    expect(await matching({ subject: 'u-1' })).to.deep.equal([])
  })

  if (traits.listsSessions) {
    it('ending a listed session ends it in all copies of its cookies', async () => {
      const [first, second] = [await started(), await started({ sid: 's-2' })]
      const copy = copyOf(second)
      await clock.advance(11 * HOUR_MS)
      const filter = ended({ subject: 'u-1', sid: 's-2' })
      expect((await call(newBrowser(), 'end-one', filter)).error).to.equal(undefined)
      expect(await areSignedIn(first, second, copy)).to.deep.equal([true, false, false])
      await clock.advance(HOUR_MS - 1)
      expect(await isSignedIn(second)).to.equal(false)
    })

    it('ending a listed session fails if the revocation store fails', async () => {
      const browser = await started()
      mood = 'failing'
      expect((await call(newBrowser(), 'end-one', ended({ subject: 'u-1', sid: 's-1' }))).error).to.be.a('string')
      mood = 'fine'
      expect(await isSignedIn(browser)).to.equal(true)
    })
  }
}
