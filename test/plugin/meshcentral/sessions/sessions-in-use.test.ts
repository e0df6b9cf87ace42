import { expect } from 'chai'
import type { OpenSession, SignIn } from '../../../../plugin/host/port.ts'
import { type Ended, endedInDatabase } from '../../../../plugin/meshcentral/sessions/ended.ts'
import { keptSessions } from '../../../../plugin/meshcentral/sessions/kept-sessions.ts'
import { createOpenSessions, type OpenSessions } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { type SessionSecrets, sessionSecrets } from '../../../../plugin/meshcentral/sessions/session-secrets.ts'
import { maxAgeOf, meshSessions } from '../../../../plugin/meshcentral/sessions/sessions.ts'
import { createIntrospection } from '../../../../plugin/sessions/introspection.ts'
import { createSessionReview, type SessionReview } from '../../../../plugin/sessions/session-review.ts'
import { startSessionRounds } from '../../../../plugin/sessions/session-rounds.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { standIn } from '../stand-in.ts'

const SECRET = 'a secret of the server with more than 32 characters'
/** How long an answer holds. A round comes every 10 s. */
const EVERY_MS = 60_000
const ROUND_MS = 10_000
const AWAY = new Error('nobody answers')

type Answer = () => Promise<{ active: boolean }>
const active: Answer = async () => ({ active: true })

describe('sessions of MeshCentral that are in use', () => {
  let clock: FakeClock
  let ended: Ended
  let secrets: SessionSecrets
  let open: OpenSessions
  let review: SessionReview
  let inUse: NonNullable<ReturnType<typeof keptSessions>['inUse']>
  let closeRounds: () => void
  /** How often each was asked about. */
  let asked: Map<string, number>
  let failures: { readonly domainKey: string; readonly failure: unknown }[]
  let unreadable: string | undefined
  /** Questions to the database under way. */
  let reading: number
  let isOver: boolean

  beforeEach(async () => {
    clock = new FakeClock(1_000_000)
    const now = () => clock.now()
    const { server, web } = standIn()
    const onFailure = (error: unknown) => expect.fail(String(error))
    ended = endedInDatabase(server.db, clock)
    await ended.endedAt([])
    secrets = sessionSecrets({ db: server.db, secret: SECRET, clock, onFailure })
    open = createOpenSessions(now, 5_000)
    const options = { server, web, ended, open, secret: SECRET, clock, onFailure }
    reading = 0
    const read = async (handle: string) => {
      if (handle === unreadable) throw new Error('the disk is broken')
      reading += 1
      return secrets.read(handle).finally(() => {
        reading -= 1
      })
    }
    const sessions = keptSessions(meshSessions(options), {
      ...options,
      secrets: { ...secrets, read },
      maxAgeMs: maxAgeOf(web),
    })
    inUse = sessions.inUse?.bind(sessions) ?? expect.fail('nobody keeps track')
    review = createSessionReview(createIntrospection(clock), clock)
    asked = new Map()
    failures = []
    unreadable = undefined
    closeRounds = () => undefined
    isOver = false
  })
  afterEach(() => {
    isOver = true
    closeRounds()
    review.close()
    ended.close()
    secrets.close()
  })

  /** Somebody whose page is open. */
  const begin = (domainKey: string, subject: string) => {
    const handle = `${domainKey}/${subject}`
    const record = { domainKey, userId: `~oidc:${subject}`, issuer: 'https://idp.example', subject, sid: null }
    const tokens = { access: handle, accessExpiresAt: null, refresh: null }
    const signIn: SignIn = {
      ...record,
      userId: `~oidc:${subject}`,
      startedAt: clock.now() - EVERY_MS,
      idToken: null,
      tokens,
    }
    secrets.keep(signIn, handle, clock.now() + 10_000_000)
    const { idToken: _idToken, tokens: _tokens, ...kept } = signIn
    const socket = { on: () => undefined, close: () => undefined, emit: () => true } as never
    open.seen({ signIn: { ...kept, handle }, user: `user/${domainKey}/~oidc:${subject}`, x: handle }, socket)
  }
  const beginMany = (domainKey: string, count: number, name = 's') => {
    for (let at = 0; at < count; at += 1) begin(domainKey, `${name}-${at}`)
  }
  const start = (answers: Readonly<Record<string, (token: string) => Promise<{ active: boolean }>>>) => {
    closeRounds = startSessionRounds({
      everyMs: EVERY_MS,
      domains: Object.entries(answers).map(([domainKey, answer]) => ({
        domainKey,
        ask: (token) => {
          asked.set(token, (asked.get(token) ?? 0) + 1)
          return answer(token)
        },
        renew: async () => null,
        introspects: async () => true,
      })),
      inUse,
      review,
      clock,
      isAway: (failure) => failure === AWAY,
      onEnded: () => undefined,
      onFailure: (domainKey, failure) => void failures.push({ domainKey, failure }),
    })
  }
  /** Once it is so, in the course of what is under way. */
  const until = async (isSo: () => boolean) => {
    while (!isOver && !isSo()) await new Promise(setImmediate)
  }
  const nextRound = async () => {
    await clock.advance(ROUND_MS)
    // The database has 10 s, too.
    await until(() => reading === 0)
  }
  const whileAnswersHold = async () => {
    for (let passed = 0; passed < EVERY_MS; passed += ROUND_MS) await nextRound()
  }
  /** The least often that one of so many of a domain was asked about. */
  const leastAsked = (domainKey: string, count: number, name = 's') =>
    Math.min(...Array.from({ length: count }, (_, at) => asked.get(`${domainKey}/${name}-${at}`) ?? 0))

  it('are asked about in each of many domains, though all are due at once', async () => {
    const domains = Array.from({ length: 300 }, (_, at) => `domain-${at}`)
    for (const domainKey of domains) beginMany(domainKey, 8)
    let underWay = 0
    let most = 0
    const answer = async () => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise(setImmediate)
      underWay -= 1
      return { active: true }
    }
    start(Object.fromEntries(domains.map((domainKey) => [domainKey, answer])))
    await nextRound()
    await until(() => asked.size === 300 * 8)
    expect(failures).to.deep.equal([])
    expect(most).to.be.at.most(300 + 56)
  })

  it('are asked about where the IdP is well, whatever others hang', async () => {
    const hung = Array.from({ length: 12 }, (_, at) => `hung-${at}`)
    for (const domainKey of hung) beginMany(domainKey, 20)
    beginMany('fine', 20)
    const never = () => new Promise<{ active: boolean }>(() => undefined)
    start({ ...Object.fromEntries(hung.map((domainKey) => [domainKey, never])), fine: active })
    for (let round = 1; round <= 3; round += 1) {
      await whileAnswersHold()
      await until(() => leastAsked('fine', 20) >= round)
    }
    for (const domainKey of hung) expect(asked.get(`${domainKey}/s-0`), domainKey).to.equal(1)
  })

  it('are asked about again in time where another IdP takes long to fail', async () => {
    beginMany('slow', 100)
    beginMany('fine', 10)
    const answers: (() => void)[] = []
    const slow = () =>
      new Promise<{ active: boolean }>((_, reject) => answers.push(() => reject(new Error('status 503'))))
    start({ slow, fine: active })
    await nextRound()
    for (let round = 1; round <= 12; round += 1) {
      await until(() => leastAsked('fine', 10) >= round && answers.length === 8)
      await whileAnswersHold()
      for (const answer of answers.splice(0)) answer()
    }
    expect(leastAsked('slow', 8 * 12)).to.equal(1)
  })

  describe('about some of which the IdP gives no answer', () => {
    const answer = (token: string) => (token.includes('hanging') ? Promise.reject(AWAY) : active())
    /** Until the IdP is spared, for as long as an answer holds. */
    const askedAgain = async () => {
      const before = failures.length
      await whileAnswersHold()
      await until(() => failures.length > before)
    }

    it('are not kept from their turn by the same few', async () => {
      beginMany('', 8, 'hanging')
      beginMany('', 24, 'good')
      start({ '': answer })
      await nextRound()
      await until(() => failures.length === 1)
      expect([leastAsked('', 8, 'hanging'), asked.size]).to.deep.equal([1, 8])
      for (let round = 1; round <= 4; round += 1) {
        await askedAgain()
        await until(() => leastAsked('', 24, 'good') === round)
      }
    })

    it('come before those as soon as these are known', async () => {
      beginMany('', 40, 'hanging')
      beginMany('', 24, 'good')
      start({ '': answer })
      await nextRound()
      await until(() => failures.length === 1)
      while (leastAsked('', 40, 'hanging') === 0) await askedAgain()
      const before = leastAsked('', 24, 'good')
      for (let round = 1; round <= 10; round += 1) await askedAgain()
      expect(leastAsked('', 24, 'good')).to.be.at.least(before + 9)
      // They have their turns as well, one after the other.
      expect(leastAsked('', 40, 'hanging')).to.be.at.least(2)
    })
  })

  it('stay due where they were not asked about, and that is told of once', async () => {
    beginMany('', 20)
    const waiting: (() => void)[] = []
    const found: OpenSession[] = []
    for await (const one of inUse('', clock.now())) found.push(one)
    const others = review.review(Array(1_008).fill(found[0]), async () => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return { active: true }
    })
    await until(() => waiting.length === 8)
    start({ '': active })
    await nextRound()
    await until(() => failures.length > 0)
    const [told] = failures
    expect(told?.domainKey).to.equal('')
    expect(told?.failure).to.include({ code: 'introspection_failed' })
    expect(told?.failure).to.have.property('details').that.deep.includes({ sessions: 8 })
    expect(asked.size).to.equal(0)
    let areAsked = false
    void others.then(() => {
      areAsked = true
    })
    await until(() => {
      for (const answer of waiting.splice(0)) answer()
      return areAsked
    })
    await nextRound()
    await until(() => asked.size === 20)
    expect(failures).to.have.length(1)
  })

  it('are asked about all the same where the tokens of one cannot be read', async () => {
    beginMany('', 10)
    unreadable = '/s-0'
    start({ '': active })
    while (asked.size < 9) await nextRound()
    expect(failures.map(({ failure }) => String(failure))).to.deep.equal(['Error: the disk is broken'])
  })
})
