import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import { unanswered } from '../../../plugin/provider/faults/unanswered.ts'
import { UnansweredRequest } from '../../../plugin/provider/http/noted-exchange.ts'
import { deferred } from '../../support/deferred.ts'
import { EVERY_MS, type Idp, LOOK_MS, setUpSessionChecks } from './session-checks-setup.ts'

const PAUSE_MS = 60_000

const UNCHECKED = [['session-unchecked', undefined]] as const
const REFUSED = new LoginError('token_request_failed', {
  details: { error: 'invalid_grant', errorDescription: 'gone' },
})
const AWAY = new LoginError('provider_unreachable', { cause: new DOMException('No answer in time', 'TimeoutError') })
const TOKEN_ENDPOINT = { endpoint: 'token_endpoint', address: 'https://idp/token' }
const LOST = unanswered(new UnansweredRequest(TOKEN_ENDPOINT, new DOMException('No answer in time', 'TimeoutError')))
const UNKNOWN_CLIENT = new LoginError('token_request_failed', { details: { error: 'invalid_client' } })
const FORGED = new LoginError('id_token_invalid', {
  details: { reason: 'the renewed ID token describes another user' },
})

/** Returns a function that rejects with each of the errors in turn, and then resolves to `result`. */
function failing<Result>(errors: readonly Error[], result: Result): () => Promise<Result> {
  const remaining = [...errors]
  return async () => {
    const error = remaining.shift()
    if (error) throw error
    return result
  }
}

describe('session checks', () => {
  const closers: (() => unknown)[] = []
  afterEach(() => {
    for (const close of closers.splice(0)) close()
  })

  function setUp(options?: Parameters<typeof setUpSessionChecks>[0]) {
    const parts = setUpSessionChecks(options)
    closers.push(parts.close)
    return parts
  }
  const many = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`)

  // Shows: plugin 9.15.
  it('renews each session in use once per interval, and stores each new token once', async () => {
    const { clock, look, requests, written, refreshOf } = setUp({ names: ['a', 'b'] })
    await look()
    expect(requests).to.deep.equal(['a 1', 'b 1'])
    expect(written).to.deep.equal(['a a access 2', 'b b access 2'])
    await clock.advance(EVERY_MS - LOOK_MS)
    expect(requests).to.have.length(2)
    await clock.advance(LOOK_MS)
    expect(requests.slice(2)).to.deep.equal(['a 2', 'b 2'])
    expect(refreshOf('a')).to.equal('a 3')
  })

  it('checks no session if sessionCheckMinutes is 0', async () => {
    const { clock, requests } = setUp({ everyMs: 0 })
    await clock.advance(EVERY_MS)
    expect(requests).to.deep.equal([])
  })

  for (const [condition, failure, level, fields] of [
    ['refuses its refresh token', REFUSED, 'info', { error: 'invalid_grant', errorDescription: 'gone' }],
    ['returns a wrong ID token', FORGED, 'warn', { reason: 'the renewed ID token describes another user' }],
  ] as const) {
    // Shows: plugin 9.15.
    it(`ends only the affected session if the IdP ${condition}`, async () => {
      const idp: Idp = async (refresh) => {
        if (refresh === 'b 1') throw failure
      }
      const { look, stored, lines } = setUp({ names: ['a', 'b', 'c'], idp })
      await look()
      expect([...stored.keys()]).to.deep.equal(['a', 'c'])
      expect(lines.map((line) => ({ ...line, message: '' }))).to.deep.equal([
        { level, event: 'session-ended', message: '', domain: '', fields: { user: '~oidc:b', ...fields } },
      ])
    })
  }

  // Shows: plugin 9.15.
  it('keeps a session if the IdP refuses a token that another process has renewed', async () => {
    const { look, stored, lines, refreshOf } = setUp({
      idp: async () => {
        const now = stored.get('a')
        if (now?.tokens) stored.set('a', { ...now, tokens: { ...now.tokens, refresh: 'a 7' } })
        throw REFUSED
      },
    })
    await look()
    expect(refreshOf('a')).to.equal('a 7')
    expect(lines).to.deep.equal([])
  })

  describe('shutdown of session checks', () => {
    // Shows: plugin 9.14.
    it('closing session checks waits for pending renewals, and starts no new ones', async () => {
      const answer = deferred()
      const { look, checks, requests, written, refreshOf } = setUp({ names: many(12), idp: () => answer.promise })
      await look()
      expect(requests).to.have.length(8)
      const closing = checks.close().then(() => 'closed')
      expect(await Promise.race([closing, 'waiting'])).to.equal('waiting')
      answer.resolve()
      expect(await closing).to.equal('closed')
      expect({
        requests: requests.length,
        written: written.length,
        first: refreshOf('s0'),
        last: refreshOf('s8'),
      }).to.deep.equal({ requests: 8, written: 8, first: 's0 2', last: 's8 1' })
    })

    it('renews no session if its lease is granted after session checks were closed', async () => {
      const leased = deferred()
      const { look, checks, requests } = setUp({ lease: () => leased.promise.then(() => async () => undefined) })
      await look()
      const closing = checks.close()
      leased.resolve()
      await closing
      expect(requests).to.deep.equal([])
    })

    // Shows: plugin 9.14.
    it('closing session checks waits at most 12 s for an IdP that does not answer', async () => {
      const { clock, look, checks } = setUp({ idp: () => new Promise(() => undefined) })
      await look()
      const closing = checks.close().then(() => 'closed')
      await clock.advance(11_999)
      expect(await Promise.race([closing, 'waiting'])).to.equal('waiting')
      await clock.advance(1)
      expect(await closing).to.equal('closed')
    })
  })

  // Shows: plugin 9.13.
  it('logs once a day how many sessions cannot be checked', async () => {
    const { clock, look, checks, lines } = setUp({ names: ['a', 'b'], tokens: { refresh: null } })
    await look()
    expect(checks.unchecked()).to.equal(2)
    expect(lines.map(({ event }) => event)).to.deep.equal(['session-unchecked'])
    await clock.advance(23 * 60 * 60_000)
    expect(lines).to.have.length(1)
    await clock.advance(60 * 60_000 + EVERY_MS)
    expect(lines).to.have.length(2)
  })

  describe('session without refresh token', () => {
    for (const [title, tokens, status, isAsked, lives, logged] of [
      ['keeps a session without refresh token if its access token is active', {}, true, true, true, []],
      [
        'ends a session without refresh token if its access token is inactive',
        {},
        false,
        true,
        false,
        [['session-ended', '~oidc:a']],
      ],
      [
        'does not introspect a session whose only token has expired',
        { accessExpiresAt: 1 },
        false,
        false,
        true,
        UNCHECKED,
      ],
      ['keeps a session without refresh token if the IdP cannot be asked', {}, null, true, true, UNCHECKED],
    ] as const) {
      it(title, async () => {
        const options = { tokens: { refresh: null, ...tokens }, introspect: async () => status }
        const { look, requests, stored, written, events } = setUp(options)
        await look()
        expect(requests).to.deep.equal(isAsked ? ['a access'] : [])
        expect(stored.has('a')).to.equal(lives)
        expect(written).to.deep.equal([])
        expect(events()).to.deep.equal(logged)
      })
    }
  })

  for (const [condition, failure, code] of [
    ['does not answer', AWAY, 'provider_unreachable'],
    ['refuses this client', UNKNOWN_CLIENT, 'token_request_failed'],
    ['causes an internal error', new Error('a bug'), 'host_failed'],
  ] as const) {
    // Shows: plugin 9.15.
    it(`keeps all sessions and pauses for a minute if the IdP ${condition}`, async () => {
      let isAway = true
      const idp: Idp = async () => {
        if (isAway) throw failure
      }
      const { clock, look, requests, stored, events } = setUp({ names: many(30), idp })
      await look()
      expect({ requests: requests.length, stored: stored.size, events: events() }).to.deep.equal({
        requests: 8,
        stored: 30,
        events: [['session-check-failed', code]],
      })
      await clock.advance(PAUSE_MS - LOOK_MS)
      expect(requests).to.have.length(8)
      await clock.advance(LOOK_MS)
      expect(requests).to.have.length(9)
      isAway = false
      await clock.advance(PAUSE_MS)
      // Sessions not yet checked come first. Those with failed checks are due later.
      expect(requests).to.have.length(30)
      await clock.advance(EVERY_MS)
      expect({ stored: stored.size, events: events().length }).to.deep.equal({ stored: 30, events: 1 })
      isAway = true
      await clock.advance(EVERY_MS)
      expect(events()).to.have.length(2)
    })
  }

  for (const error of ['interaction_required', 'invalid_request'])
    it(`keeps all sessions if the IdP answers ${error}, and logs it once`, async () => {
      const idp: Idp = async () => {
        throw new LoginError('token_request_failed', { details: { error } })
      }
      const { look, requests, stored, events } = setUp({ names: many(30), idp })
      await look()
      expect({ requests: requests.length, stored: stored.size }).to.deep.equal({ requests: 30, stored: 30 })
      expect(events()).to.deep.equal([['session-check-failed', 'token_request_failed']])
    })

  // Shows: plugin 9.15.
  it('logs only the first of several refused renewals, until a renewal succeeds', async () => {
    let isRefused = true
    const { clock, look, requests, lines } = setUp({
      idp: async () => {
        if (isRefused) throw new LoginError('token_request_failed', { details: { error: 'interaction_required' } })
      },
    })
    await look()
    for (let round = 0; round < 3; round += 1) await clock.advance(EVERY_MS)
    expect({ requests: requests.length, lines: lines.length }).to.deep.equal({ requests: 4, lines: 1 })
    isRefused = false
    await clock.advance(EVERY_MS)
    isRefused = true
    await clock.advance(EVERY_MS)
    expect({ requests: requests.length, lines: lines.length }).to.deep.equal({ requests: 6, lines: 2 })
  })

  // Shows: plugin 9.15.
  it("logs that a session ended because the IdP's answer to its last renewal was lost", async () => {
    const failures = [LOST, REFUSED]
    const { clock, look, lines } = setUp({
      idp: async () => {
        throw failures.shift()
      },
    })
    await look()
    await clock.advance(EVERY_MS)
    expect(lines.map(({ event }) => event)).to.deep.equal(['session-check-failed', 'session-ended'])
    expect(lines[1]?.message).to.match(/answer to the previous renewal of its tokens was lost.*sign in again/)
  })

  for (const [condition, options] of [
    ['an introspection failed', { tokens: { refresh: null }, introspect: failing([AWAY], false) }],
    ['no connection was made', { idp: failing([AWAY, REFUSED], undefined) }],
  ] as const) {
    it(`blames no lost answer for an ended session if ${condition} before`, async () => {
      const { clock, look, lines } = setUp(options)
      await look()
      await clock.advance(EVERY_MS)
      expect(lines.map(({ event }) => event)).to.deep.equal(['session-check-failed', 'session-ended'])
      expect(lines[1]?.message).to.equal('A session ended at the IdP, so it ended here too.')
    })
  }

  // Shows: plugin 9.15.
  it('sends at most eight requests at once to an IdP, without delaying other IdPs', async () => {
    const hung = deferred()
    const idp: Idp = (refresh) => (refresh.startsWith('hung') ? hung.promise : Promise.resolve())
    const { look, requests, all, checks } = setUp({ names: many(30), domains: ['hung', 'fine'], idp })
    await look()
    const requestsOf = (domainKey: string) => requests.filter((refresh) => refresh.startsWith(domainKey)).length
    expect({ hung: requestsOf('hung'), fine: requestsOf('fine') }).to.deep.equal({ hung: 8, fine: 30 })
    void checks.checkNow(all.slice(8, 30))
    await look()
    expect(requestsOf('hung')).to.equal(8)
    hung.resolve()
    await look()
    const names = requests.filter((refresh) => refresh.startsWith('hung')).map((refresh) => refresh.split(' ')[0])
    expect(new Set(names).size).to.equal(30)
  })

  describe('session checks shared by several server processes', () => {
    // Shows: plugin 9.15.
    it('does not check sessions that another process leased; releases its own leases', async () => {
      const held = new Set(['a'])
      const log: string[] = []
      const lease = async (id: string) => {
        if (held.has(id)) return null
        log.push(`took ${id}`)
        return async () => void log.push(`gave back ${id}`)
      }
      const idp: Idp = async (refresh) => {
        log.push(`asked ${refresh}`)
        if (refresh.startsWith('c')) throw AWAY
      }
      const { look } = setUp({ names: ['a', 'b', 'c'], lease, idp })
      await look()
      const linesOf = (name: string) => log.filter((line) => new RegExp(` ${name}( |$)`).test(line))
      for (const name of ['b', 'c'])
        expect(linesOf(name)).to.deep.equal([`took ${name}`, `asked ${name} 1`, `gave back ${name}`])
      expect(linesOf('a')).to.deep.equal([])
    })

    it('does not renew tokens that another process renewed before the lease was granted', async () => {
      const lease = async () => {
        const tokens = { access: 'theirs', accessExpiresAt: null, refresh: 'a 9' }
        stored.set('a', { idToken: null, tokens, renewedAt: clock.now() })
        return async () => undefined
      }
      const { clock, look, requests, stored } = setUp({ lease })
      await look()
      expect(requests).to.deep.equal([])
      await clock.advance(EVERY_MS)
      expect(requests).to.deep.equal([])
    })
  })

  it("after a logout, checks a user's other sessions at once, after 1 s and after 30 s", async () => {
    const { clock, requests, all, checks, refreshOf } = setUp({ names: ['a', 'b'], everyMs: 0 })
    await checks.checkNow(all)
    expect(requests).to.deep.equal(['a 1', 'b 1'])
    for (const [ms, questions] of [
      [999, 2],
      [1, 4],
      [28_999, 4],
      [1, 6],
    ] as const) {
      await clock.advance(ms)
      expect(requests).to.have.length(questions)
    }
    expect(refreshOf('a')).to.equal('a 4')
    await clock.advance(600_000)
    expect({ requests: requests.length, timers: clock.pending }).to.deep.equal({ requests: 6, timers: 0 })
  })

  it("checks a user's sessions at once after a logout token, even if the IdP was down", async () => {
    let isAway = true
    const idp: Idp = async () => {
      if (isAway) throw AWAY
    }
    const { look, requests, all, checks, refreshOf } = setUp({ idp })
    await look()
    isAway = false
    await checks.checkNow(all)
    expect({ requests, refresh: refreshOf('a') }).to.deep.equal({ requests: ['a 1', 'a 1'], refresh: 'a 2' })
  })

  it('starts no second check of a session while the first is pending', async () => {
    const hung = deferred()
    const { look, requests, all, checks } = setUp({ idp: () => hung.promise })
    await look()
    await checks.checkNow(all)
    expect(requests).to.deep.equal(['a 1'])
    hung.resolve()
  })

  it('session checks send no requests and set no timers after close()', async () => {
    const hung = deferred()
    const { clock, look, requests, all, checks, lines } = setUp({ names: many(30), idp: () => hung.promise })
    await look()
    const work = checks.checkNow(all.slice(8))
    checks.close()
    hung.resolve()
    await work
    await clock.advance(600_000)
    expect({ requests: requests.length, timers: clock.pending, lines }).to.deep.equal({
      requests: 8,
      timers: 0,
      lines: [],
    })
  })
})
