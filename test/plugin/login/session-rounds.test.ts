import { expect } from 'chai'
import type { OpenSession } from '../../../plugin/host/port.ts'
import { createIntrospection } from '../../../plugin/login/introspection.ts'
import { createSessionReview } from '../../../plugin/login/session-review.ts'
import { type SessionRoundsOptions, startSessionRounds } from '../../../plugin/login/session-rounds.ts'

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

  /** Rounds without a pause. `rounds` has what was asked about, round by round. */
  function start(
    sessions: readonly OpenSession[],
    answer: (token: string) => Promise<{ active: boolean }>,
    options: Partial<SessionRoundsOptions> & { readonly introspects?: boolean } = {},
  ) {
    let clock = 0
    const rounds: string[][] = []
    const times: number[] = []
    const failures: unknown[] = []
    const waiting: (() => void)[] = []
    const { introspects = true, ...own } = options
    const now = () => clock
    const close = startSessionRounds({
      everyMs: 1,
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
      async *inUse(_domainKey, since) {
        clock += 10
        times.push(since)
        rounds.push([])
        for (const done of waiting.splice(0)) done()
        yield* sessions
      },
      review: createSessionReview(createIntrospection(now), now),
      now,
      isAway: (failure) => failure === AWAY,
      onEnded: () => undefined,
      onFailure: (domainKey, failure) => void failures.push([domainKey, failure]),
      ...own,
    })
    closers.push(close)
    /** Resolves when that many rounds are over. */
    const over = async (count: number) => {
      while (rounds.length <= count) await new Promise<void>((resolve) => waiting.push(resolve))
    }
    return { rounds, times, failures, over, close }
  }
  const active = async () => ({ active: true })
  const many = (count: number) => Array.from({ length: count }, (_, at) => session(`s-${at}`))

  it('ask about each session once a round, 8 at once, and tell from when the sessions of a round are', async () => {
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
    expect(rounds.slice(0, 2).map((asked) => new Set(asked).size)).to.deep.equal([50, 50])
    expect(rounds[0]).to.have.length(50)
    expect(most).to.equal(8)
    // The first one is about all since the start, the next about all since the one before began.
    expect(times.slice(0, 3)).to.deep.equal([0, 0, 10])
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
    expect(without.rounds.slice(0, 2)).to.deep.equal([[], []])
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
    const sessions = [over('good', 1), over('refused', 1), over('fresh', 1_000), over('unsaid', null), unable]
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
            return { ...tokens, access: `${tokens.access}, renewed`, accessExpiresAt: 1_000 }
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

  it('tell of failures once a round, and ask about all others all the same', async () => {
    const { rounds, failures, over } = start(many(20), async (token) => {
      if (token.endsWith('1')) throw new Error(`no answer to ${token}`)
      return { active: true }
    })
    await over(2)
    expect(rounds[1]).to.have.length(20)
    expect(failures).to.have.length(2)
    expect(String(failures[0])).to.equal(',Error: no answer to s-1')
  })

  it('spare an IdP that is away until the next round', async () => {
    const { rounds, failures, over } = start(many(20), async () => {
      throw AWAY
    })
    await over(2)
    expect(rounds.slice(0, 2).map((asked) => asked.length)).to.deep.equal([8, 8])
    expect(failures).to.have.length(2)
  })

  it('go on where the sessions cannot be read', async () => {
    const { failures } = start([], active, {
      inUse: () => ({
        [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the database is away')) }),
      }),
    })
    while (failures.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(String(failures[1])).to.equal(',Error: the database is away')
  })

  it('are over once they are closed, in the middle of one too', async () => {
    const asked: string[] = []
    const { close, failures, rounds } = start(many(20), async (token) => {
      asked.push(token)
      close()
      return { active: true }
    })
    while (asked.length < 8) await new Promise((resolve) => setTimeout(resolve, 1))
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect([asked.length, rounds.length, failures.length]).to.deep.equal([8, 1, 0])
  })
})
