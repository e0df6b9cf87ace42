import { expect } from 'chai'
import type { OpenSession } from '../../../plugin/host/port.ts'
import { createIntrospection } from '../../../plugin/sessions/introspection.ts'
import { createSessionReview } from '../../../plugin/sessions/session-review.ts'
import {
  type AskedDomain,
  type SessionRoundsOptions,
  startSessionRounds,
} from '../../../plugin/sessions/session-rounds.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** How long an answer holds. A round comes every 10 s. */
const EVERY_MS = 60_000
const ROUND_MS = 10_000

const AWAY = new Error('nobody answers')

describe('rounds of introspection', () => {
  const closers: (() => void)[] = []
  afterEach(() => {
    for (const close of closers.splice(0)) close()
  })

  const session = (name: string, ended: string[] = []): OpenSession => ({
    signIn: {
      domainKey: '',
      userId: `~oidc:${name}`,
      issuer: 'https://idp.example',
      subject: name,
      sid: null,
      startedAt: 0,
      idToken: null,
      tokens: { access: name, accessExpiresAt: null, refresh: null },
    },
    end: async () => ended.push(name) > 0,
  })

  /** Lets so many rounds more come and be over, each in the given number of domains. */
  async function turn(clock: FakeClock, rounds: number, domains: number) {
    for (let round = 0; round < rounds; round += 1) {
      await clock.advance(ROUND_MS)
      // The next pause begins when a round is over.
      while (clock.pending < domains) await new Promise(setImmediate)
    }
  }

  /** `rounds` has what was asked about, round by round. */
  function start(
    sessions: readonly OpenSession[],
    answer: (token: string) => Promise<{ active: boolean }>,
    options: Partial<SessionRoundsOptions> & { readonly introspects?: boolean } = {},
  ) {
    const clock = new FakeClock(EVERY_MS)
    const rounds: string[][] = []
    const times: number[] = []
    const failures: unknown[] = []
    const { introspects = true, ...own } = options
    const close = startSessionRounds({
      everyMs: EVERY_MS,
      domains: [
        {
          domainKey: '',
          ask: (token) => {
            rounds.at(-1)?.push(token)
            return answer(token)
          },
          renew: async () => null,
          introspects: async () => introspects,
        },
      ],
      async *inUse(_domainKey, before) {
        times.push(clock.now() - before)
        rounds.push([])
        yield* sessions
      },
      review: createSessionReview(createIntrospection(clock), clock),
      clock,
      isAway: (failure) => failure === AWAY,
      onEnded: () => undefined,
      onFailure: (domainKey, failure) => void failures.push([domainKey, failure]),
      ...own,
    })
    closers.push(close)
    return { rounds, times, failures, over: (count: number) => turn(clock, count, 1), clock, close }
  }
  const active = async () => ({ active: true })
  const many = (count: number) => Array.from({ length: count }, (_, at) => session(`s-${at}`))

  it('ask about each session once a round, 8 at once, and want those about which the answer does not hold any more', async () => {
    let underWay = 0
    let most = 0
    const { rounds, times, over } = start(many(50), async () => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise((resolve) => setImmediate(resolve))
      underWay -= 1
      return { active: true }
    })
    await over(2)
    expect(rounds.map((asked) => new Set(asked).size)).to.deep.equal([50, 50])
    expect(rounds[0]).to.have.length(50)
    expect(most).to.equal(8)
    expect(times).to.deep.equal([EVERY_MS, EVERY_MS])
  })

  it('end what is not active, and tell of it once it has ended', async () => {
    const ended: string[] = []
    const told: string[] = []
    const sessions = ['a', 'b', 'c'].map((name) => session(name, ended))
    const { over } = start(sessions, async (token) => ({ active: token !== 'b' }), {
      onEnded: ({ signIn }) => told.push(`${signIn.subject} after ${ended.length}`),
    })
    await over(1)
    expect(ended[0]).to.equal('b')
    expect(told[0]).to.equal('b after 1')
    expect(new Set(ended)).to.deep.equal(new Set(['b']))
  })

  it('ask nothing where there is no endpoint for it, nor about sessions without a token', async () => {
    const without = start(many(3), active, { introspects: false })
    await without.over(2)
    expect(without.rounds).to.deep.equal([[], []])
    expect(without.failures).to.deep.equal([])
    const [one] = many(1)
    const bare = { ...one, signIn: { ...one?.signIn, tokens: null } } as OpenSession
    const { rounds, over } = start([bare, session('a')], active)
    await over(1)
    expect(rounds[0]).to.deep.equal(['a'])
  })

  it('renew tokens that have run out before they ask, and go on with those of before where that fails', async () => {
    const kept: string[] = []
    const asked: string[] = []
    const over = (name: string, accessExpiresAt: number | null): OpenSession => {
      const own = session(name)
      const tokens = { access: name, accessExpiresAt, refresh: `refresh of ${name}` }
      const signIn = { ...own.signIn, tokens }
      return {
        ...own,
        signIn,
        async renewed(fresh) {
          kept.push(fresh.access)
          return { ...own, signIn: { ...signIn, tokens: fresh } }
        },
      }
    }
    const { renewed: _none, ...unable } = over('unable', 1)
    const sessions = [over('good', 1), over('refused', 1), over('fresh', 10 * EVERY_MS), over('unsaid', null), unable]
    const rounds = start(sessions, active, {
      domains: [
        {
          domainKey: '',
          ask: async (token) => {
            asked.push(token)
            return { active: true }
          },
          renew: async (tokens) => {
            if (tokens.access === 'refused') throw new Error('invalid_grant')
            return { ...tokens, access: `${tokens.access}, renewed`, accessExpiresAt: 10 * EVERY_MS }
          },
          introspects: async () => true,
        },
      ],
    })
    await rounds.over(1)
    expect(kept[0]).to.equal('good, renewed')
    expect(new Set(kept).size).to.equal(1)
    const once = new Set(asked)
    for (const token of ['good, renewed', 'refresh of refused', 'fresh', 'unsaid', 'refresh of unable']) {
      expect(once.has(token), token).to.equal(true)
    }
    expect(once.has('good')).to.equal(false)
    expect(rounds.failures).to.deep.equal([])
  })

  it('tell of failures once for as long as an answer holds, and ask about all others all the same', async () => {
    const { rounds, failures, over } = start(many(20), async (token) => {
      if (token.endsWith('1')) throw new Error(`no answer to ${token}`)
      return { active: true }
    })
    await over(6)
    expect(rounds.map(({ length }) => length)).to.deep.equal(Array(6).fill(20))
    expect(failures).to.have.length(1)
    await over(1)
    expect(failures).to.have.length(2)
    expect(String(failures[0])).to.equal(',Error: no answer to s-1')
  })

  describe('of which one goes wrong', () => {
    /** Two domains. */
    function startBeside(wrong: SessionRoundsOptions['inUse'], ask: AskedDomain['ask'] = active) {
      const clock = new FakeClock(EVERY_MS)
      const beside = { asked: 0, failures: [] as unknown[], rounds: 0 }
      const domain = (domainKey: string, own: AskedDomain['ask']): AskedDomain => ({
        domainKey,
        ask: own,
        renew: async () => null,
        introspects: async () => true,
      })
      const countedAsk: AskedDomain['ask'] = (...question) => {
        beside.asked += 1
        return ask(...question)
      }
      closers.push(
        startSessionRounds({
          everyMs: EVERY_MS,
          domains: [domain('wrong', countedAsk), domain('fine', active)],
          async *inUse(domainKey, before) {
            if (domainKey === 'fine') beside.rounds += 1
            else yield* wrong(domainKey, before)
          },
          review: createSessionReview(createIntrospection(clock), clock),
          clock,
          isAway: (failure) => failure === AWAY,
          onEnded: () => undefined,
          onFailure: (domainKey, failure) => void beside.failures.push([domainKey, failure]),
        }),
      )
      return { beside, more: (rounds: number) => turn(clock, rounds, 2) }
    }

    it('spare an IdP that is away for as long as an answer would hold', async () => {
      const { beside, more } = startBeside(
        async function* () {
          yield* many(20)
        },
        async () => {
          throw AWAY
        },
      )
      await more(6)
      expect([beside.asked, beside.failures, beside.rounds]).to.deep.equal([8, [['wrong', AWAY]], 6])
      await more(6)
      expect([beside.asked, beside.failures.length, beside.rounds]).to.deep.equal([16, 2, 12])
    })

    it('tell of it once for as long as an answer would hold, and go on', async () => {
      const broken = new Error('the database is away')
      const { beside, more } = startBeside(() => ({
        [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(broken) }),
      }))
      await more(6)
      expect([beside.failures, beside.rounds]).to.deep.equal([[['wrong', broken]], 6])
      await more(6)
      expect([beside.failures.length, beside.rounds]).to.deep.equal([2, 12])
    })

    it('ask about all others where the new tokens of one cannot be kept', async () => {
      const full = new Error('the disk is full')
      const tokens = { access: 'old', accessExpiresAt: 1, refresh: 'old refresh' }
      const one = { ...session('one'), renewed: () => Promise.reject(full) }
      const asked: string[] = []
      const rounds = start([{ ...one, signIn: { ...one.signIn, tokens } }, ...many(10)], active, {
        domains: [
          {
            domainKey: '',
            ask: async (token) => {
              asked.push(token)
              return { active: true }
            },
            renew: async () => ({ ...tokens, access: 'new', accessExpiresAt: 10 * EVERY_MS }),
            introspects: async () => true,
          },
        ],
      })
      await rounds.over(1)
      expect(asked).to.include.members(['new', ...many(10).map(({ signIn }) => signIn.subject)])
      expect(rounds.failures).to.deep.equal([['', full]])
    })
  })

  it('are over once they are closed, in the middle of one too', async () => {
    const asked: string[] = []
    const { clock, close, failures, rounds } = start(many(20), async (token) => {
      asked.push(token)
      close()
      return { active: true }
    })
    await clock.advance(ROUND_MS)
    while (asked.length < 8) await new Promise(setImmediate)
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect([asked.length, rounds.length, failures.length]).to.deep.equal([8, 1, 0])
  })
})
