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

/** Whether ended sessions can be counted, the tokens are kept, and sessions of other browsers can be told. */
export interface SessionsTraits {
  readonly counts: boolean
  readonly keepsTokens: boolean
  readonly tells: boolean
  /** Whose middleware has to be in place. */
  readonly library: string
}

/** What all sessions have to do. `open` is called anew for a restart, and keeps what outlives one. */
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
      // For as long as it may take, and then some.
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

  it('a session is invalid while its issuer is not accepted, and valid again after', async () => {
    const one = opened()
    let accepted = true
    one.sessions.acceptIssuers?.(({ domainKey, issuer }) => accepted && domainKey === '' && issuer !== '')
    await serveWith(one)
    const browser = await started()
    expect(await current(browser)).to.not.equal(null)
    accepted = false
    expect(await current(browser)).to.equal(null)
    accepted = true
    expect(await current(browser)).to.not.equal(null)
  })

  it('remember the sign-in, in the same request and in the next', async () => {
    const expected = signIn(traits.keepsTokens ? {} : { idToken: null, tokens: null })
    const browser = newBrowser()
    const { result } = await call(browser, 'start', signIn())
    expect(result).to.deep.include({ userId: '~oidc:u-1', subject: 'u-1', sid: 's-1' })
    expect(await current(browser)).to.deep.equal(expected)
  })

  it('tell a host what it forgot when the middleware is missing', async () => {
    await serveWith({ ...opened(), middleware: (_req, _res, next) => next() })
    const browser = newBrowser()
    expect(await current(browser)).to.equal(null)
    const { error } = await call(browser, 'start', signIn())
    expect(error).to.equal(`The request has no session. Install ${traits.library} before the plugin.`)
  })

  it('begin with nothing of what was there before', async () => {
    const browser = newBrowser()
    await call(browser, 'fill')
    expect((await call(browser, 'basket')).result).to.equal('full')
    await call(browser, 'start', signIn())
    expect((await call(browser, 'basket')).result).to.equal(null)
  })

  it('of the person before are over when another one signs in, copies of the cookies too', async () => {
    const browser = await started()
    const copy = copyOf(browser)
    expect(await isSignedIn(copy)).to.equal(true)
    await call(browser, 'start', signIn({ userId: '~oidc:u-2', subject: 'u-2' }))
    expect((await current(browser))?.userId).to.equal('~oidc:u-2')
    expect(await isSignedIn(copy)).to.equal(false)
  })

  it('end in the browser and for every copy of its cookies, and without complaint where there is none', async () => {
    const browser = await started()
    const copy = copyOf(browser)
    for (const one of [browser, browser]) expect((await call(one, 'end')).error).to.equal(undefined)
    expect(await areSignedIn(browser, copy)).to.deep.equal([false, false])
  })
  it('are over once they are as old as they may become, however much they are used', async () => {
    const browser = await started()
    await clock.advance(12 * HOUR_MS - 1)
    expect(await isSignedIn(browser)).to.equal(true)
    await clock.advance(1)
    expect(await isSignedIn(browser)).to.equal(false)
  })

  describe('that an IdP ended', () => {
    const OTHER = { userId: '~oidc:u-2', subject: 'u-2' } as const
    for (const [what, theirs, told, left] of [
      [
        'end with their session id, and with it alone',
        [{}, { sid: 's-2' }, { ...OTHER, sid: 's-3' }],
        { sid: 's-1' },
        [1, 2],
      ],
      [
        'end all when the subject is told, whatever their session ids',
        [{}, { sid: null }, OTHER],
        { subject: 'u-1' },
        [2],
      ],
      [
        'end when both are told and both are theirs, or when they know no session id',
        [{}, { sid: null }, { sid: 's-2' }, { ...OTHER, sid: 's-1' }],
        { subject: 'u-1', sid: 's-1' },
        [2, 3],
      ],
    ] as const) {
      it(what, async () => {
        const all: ScriptedBrowser[] = []
        for (const changes of theirs) all.push(await started(changes))
        const count = theirs.length - left.length
        expect((await end(told)).result).to.equal(traits.counts ? count : null)
        expect(await areSignedIn(...all)).to.deep.equal(all.map((_, at) => left.some((one) => one === at)))
      })
    }

    it('do not end without a word on whose they are', async () => {
      const browser = await started()
      expect((await end({})).error).to.equal('A session filter needs a subject or a sid.')
      expect(await isSignedIn(browser)).to.equal(true)
    })

    it('do not come about when their login was under way, neither in that request nor in the next', async () => {
      const login = signIn()
      await clock.advance(1000)
      await end({ sid: 's-1' })
      const browser = newBrowser()
      expect((await call(browser, 'start', login)).result).to.equal(null)
      expect(await isSignedIn(browser)).to.equal(false)
    })

    it('can begin anew by a later login, even under the same session id', async () => {
      await started()
      await end({ subject: 'u-1' })
      await end({ sid: 's-1' })
      await clock.advance(1)
      expect(await isSignedIn(await started())).to.equal(true)
    })

    it('stay ended through a restart', async () => {
      const [first, second] = [await started(), await started({ sid: 's-2' })]
      await end({ sid: 's-1' })
      await call(second, 'end')
      const copy = copyOf(second)
      await serve()
      expect(await areSignedIn(first, copy)).to.deep.equal([false, false])
    })

    it('stay ended for as long as they could have lived', async () => {
      const browser = await started()
      await clock.advance(11 * HOUR_MS)
      await end({ sid: 's-1' })
      await clock.advance(HOUR_MS - 1)
      expect(await isSignedIn(browser)).to.equal(false)
    })

    for (const trouble of ['failing', 'hanging'] as const) {
      it(`are reported as not ended when the store of revocations is ${trouble}, and nobody is signed in then`, async () => {
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

  it(`${traits.tells ? 'are told' : 'are not told'} of other browsers, with all that was kept of them`, async () => {
    await started()
    await started({ sid: 's-2' })
    await started({ userId: '~oidc:u-2', subject: 'u-2' })
    const matching = async (changes: Partial<SessionFilter>) => {
      const { result } = (await call(newBrowser(), 'matching', ended(changes))) as { result: SignIn[] | null }
      return result?.toSorted((a, b) => String(a.sid).localeCompare(String(b.sid))) ?? null
    }
    if (!traits.tells) {
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

  if (traits.tells) {
    it('that were told end one by one, copies of their cookies too, for as long as they could have lived', async () => {
      const [first, second] = [await started(), await started({ sid: 's-2' })]
      const copy = copyOf(second)
      await clock.advance(11 * HOUR_MS)
      const one = ended({ subject: 'u-1', sid: 's-2' })
      expect((await call(newBrowser(), 'end-one', one)).error).to.equal(undefined)
      expect(await areSignedIn(first, second, copy)).to.deep.equal([true, false, false])
      await clock.advance(HOUR_MS - 1)
      expect(await isSignedIn(second)).to.equal(false)
    })

    it('that were told do not end when the store of revocations fails, and that is reported', async () => {
      const browser = await started()
      mood = 'failing'
      expect((await call(newBrowser(), 'end-one', ended({ subject: 'u-1', sid: 's-1' }))).error).to.be.a('string')
      mood = 'fine'
      expect(await isSignedIn(browser)).to.equal(true)
    })
  }
}
