import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import type { AuthLogEntry, Host, OpenSession, SessionTokens, Tokens } from '../../../plugin/host/port.ts'
import type { ProviderClient } from '../../../plugin/provider/client.ts'
import { SessionChecks } from '../../../plugin/sessions/session-checks.ts'
import { deferred } from '../../support/deferred.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const EVERY_MS = 300_000
const LOOK_MS = 10_000
const PAUSE_MS = 60_000

const UNCHECKED = [['session-unchecked', undefined]] as const
const REFUSED = new LoginError('token_request_failed', {
  details: { error: 'invalid_grant', errorDescription: 'gone' },
})
const AWAY = new LoginError('provider_unreachable', { cause: new DOMException('No answer in time', 'TimeoutError') })
const UNKNOWN_CLIENT = new LoginError('token_request_failed', { details: { error: 'invalid_client' } })
const FORGED = new LoginError('id_token_invalid', {
  details: { reason: 'the renewed ID token describes another user' },
})

/** An IdP whose refresh token n of a session is followed by n + 1. */
type Idp = (refresh: string) => Promise<unknown>

describe('checks whether sessions still live', () => {
  const closers: (() => unknown)[] = []
  afterEach(() => {
    for (const close of closers.splice(0)) close()
  })

  function setUp({
    names = ['a'] as readonly string[],
    idp = (async () => undefined) as Idp,
    tokens = {} as Partial<Tokens>,
    everyMs = EVERY_MS,
    domains = [''] as readonly string[],
    lease = undefined as Host['sessions']['lease'],
    introspect = (async () => null) as (token: string) => Promise<boolean | null>,
  } = {}) {
    const clock = new FakeClock(1_000_000)
    const kept = new Map<string, SessionTokens>()
    const asked: string[] = []
    const written: string[] = []
    const lines: AuthLogEntry[] = []
    const all = domains.flatMap((domainKey) => names.map((name) => sessionOf(domainKey, name)))
    const takenAt = new Map(all.map(({ id }) => [id, clock.now() - everyMs]))

    function sessionOf(domainKey: string, name: string): OpenSession {
      const id = domainKey + name
      kept.set(id, {
        idToken: null,
        tokens: { access: `${id} access`, accessExpiresAt: null, refresh: `${id} 1`, ...tokens },
      })
      return {
        id,
        signIn: { domainKey, userId: `~oidc:${name}`, issuer: 'https://idp', subject: name, sid: null, startedAt: 0 },
        read: async () => kept.get(id) ?? { idToken: null, tokens: null },
        write: async (fresh) => {
          written.push(`${id} ${fresh.tokens?.access}`)
          kept.set(id, fresh)
        },
        end: async () => void kept.delete(id),
      }
    }
    const client: Pick<ProviderClient, 'introspect' | 'renew'> = {
      async renew(own, refresh) {
        asked.push(refresh)
        await idp(refresh)
        const [name = '', count] = refresh.split(' ')
        const next = Number(count) + 1
        return {
          tokens: { ...own, access: `${name} access ${next}`, refresh: `${name} ${next}` },
          idToken: null,
          claims: null,
        }
      },
      async introspect(token) {
        asked.push(token)
        return introspect(token)
      },
    }
    const sessions: Partial<Host['sessions']> = {
      *inUse(domainKey, forMs) {
        for (const one of all) {
          if (one.signIn.domainKey !== domainKey || (takenAt.get(one.id) ?? 0) > clock.now() - forMs) continue
          yield one
          takenAt.set(one.id, clock.now())
        }
      },
      ...(lease ? { lease } : {}),
    }
    const host = { sessions, authLog: (entry: AuthLogEntry) => lines.push(entry) } as unknown as Host
    const options = { host, provider: { client }, clock, everyMs }
    const [checks, ...others] = domains.map((key) => new SessionChecks(key, options))
    if (!checks) throw new Error('There are no domains.')
    closers.push(...[checks, ...others].map(({ close }) => close))
    const events = () => lines.map(({ event, fields }) => [event, fields.user ?? fields.code] as const)
    const refreshOf = (id: string) => kept.get(id)?.tokens?.refresh ?? null
    return { clock, kept, asked, written, lines, all, checks, events, refreshOf, look: () => clock.advance(LOOK_MS) }
  }
  const many = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`)

  // Shows: plugin 9.15.
  it('renew each session in use once in that time, and write what came once', async () => {
    const { clock, look, asked, written, refreshOf } = setUp({ names: ['a', 'b'] })
    await look()
    expect(asked).to.deep.equal(['a 1', 'b 1'])
    expect(written).to.deep.equal(['a a access 2', 'b b access 2'])
    await clock.advance(EVERY_MS - LOOK_MS)
    expect(asked).to.have.length(2)
    await clock.advance(LOOK_MS)
    expect([asked.slice(2), refreshOf('a')]).to.deep.equal([['a 2', 'b 2'], 'a 3'])
  })

  it('ask about nobody with 0', async () => {
    const { clock, asked } = setUp({ everyMs: 0 })
    await clock.advance(EVERY_MS)
    expect(asked).to.deep.equal([])
  })

  for (const [what, failure, level, fields] of [
    ['refuses its refresh token', REFUSED, 'info', { error: 'invalid_grant', errorDescription: 'gone' }],
    ['gives a wrong ID token for it', FORGED, 'warn', { reason: 'the renewed ID token describes another user' }],
  ] as const) {
    // Shows: plugin 9.15.
    it(`end a session where the IdP ${what}, and no other`, async () => {
      const idp: Idp = async (refresh) => {
        if (refresh === 'b 1') throw failure
      }
      const { look, kept, lines } = setUp({ names: ['a', 'b', 'c'], idp })
      await look()
      expect([...kept.keys()]).to.deep.equal(['a', 'c'])
      expect(lines.map((line) => ({ ...line, message: '' }))).to.deep.equal([
        { level, event: 'session-ended', message: '', domain: '', fields: { user: '~oidc:b', ...fields } },
      ])
    })
  }

  // Shows: plugin 9.15.
  it('end nothing by the word on a refresh token that another process has renewed meanwhile', async () => {
    const { look, kept, lines, refreshOf } = setUp({
      idp: async () => {
        const now = kept.get('a')
        if (now?.tokens) kept.set('a', { ...now, tokens: { ...now.tokens, refresh: 'a 7' } })
        throw REFUSED
      },
    })
    await look()
    expect([refreshOf('a'), lines]).to.deep.equal(['a 7', []])
  })

  describe('while they are closed', () => {
    // Shows: plugin 9.14.
    it('wait for renewals under way and write their answers, and begin no further one', async () => {
      const answer = deferred()
      const { look, checks, asked, written, refreshOf } = setUp({ names: many(12), idp: () => answer.promise })
      await look()
      expect(asked).to.have.length(8)
      const closing = checks.close().then(() => 'closed')
      expect(await Promise.race([closing, 'waiting'])).to.equal('waiting')
      answer.resolve()
      expect(await closing).to.equal('closed')
      expect([asked.length, written.length, refreshOf('s0'), refreshOf('s8')]).to.deep.equal([8, 8, 's0 2', 's8 1'])
    })

    it('renew nothing for which the lease comes only then', async () => {
      const leased = deferred()
      const { look, checks, asked } = setUp({ lease: () => leased.promise.then(() => async () => undefined) })
      await look()
      const closing = checks.close()
      leased.resolve()
      await closing
      expect(asked).to.deep.equal([])
    })

    // Shows: plugin 9.14.
    it('wait for an IdP that hangs 12 s at most', async () => {
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
  it('log once a day that sessions can never be checked, and count them', async () => {
    const { clock, look, checks, lines } = setUp({ names: ['a', 'b'], tokens: { refresh: null } })
    await look()
    expect(checks.unchecked()).to.equal(2)
    expect(lines.map(({ event }) => event)).to.deep.equal(['session-unchecked'])
    await clock.advance(23 * 60 * 60_000)
    expect(lines).to.have.length(1)
    await clock.advance(60 * 60_000 + EVERY_MS)
    expect(lines).to.have.length(2)
  })

  describe('where there is no refresh token', () => {
    for (const [what, tokens, status, isAsked, lives, logged] of [
      ['go on with an active access token', {}, true, true, true, []],
      ['end with one that is not', {}, false, true, false, [['session-ended', '~oidc:a']]],
      ['ask nothing about one that has run out', { accessExpiresAt: 1 }, false, false, true, UNCHECKED],
      ['go on where the IdP cannot be asked', {}, null, true, true, UNCHECKED],
    ] as const) {
      it(what, async () => {
        const options = { tokens: { refresh: null, ...tokens }, introspect: async () => status }
        const { look, asked, kept, written, events } = setUp(options)
        await look()
        expect(asked).to.deep.equal(isAsked ? ['a access'] : [])
        expect([kept.has('a'), written]).to.deep.equal([lives, []])
        expect(events()).to.deep.equal(logged)
      })
    }
  })

  for (const [what, failure, code] of [
    ['does not answer', AWAY, 'provider_unreachable'],
    ['does not take this client', UNKNOWN_CLIENT, 'token_request_failed'],
    ['makes something break', new Error('a bug'), 'host_failed'],
  ] as const) {
    // Shows: plugin 9.15.
    it(`end nothing while the IdP ${what}, say so once, and leave it alone for a minute, then try one`, async () => {
      let isAway = true
      const idp: Idp = async () => {
        if (isAway) throw failure
      }
      const { clock, look, asked, kept, events } = setUp({ names: many(30), idp })
      await look()
      expect([asked.length, kept.size, events()]).to.deep.equal([8, 30, [['session-check-failed', code]]])
      await clock.advance(PAUSE_MS - LOOK_MS)
      expect(asked).to.have.length(8)
      await clock.advance(LOOK_MS)
      expect(asked).to.have.length(9)
      isAway = false
      await clock.advance(PAUSE_MS)
      // All who were not asked come first; those whose questions failed are due again later.
      expect(asked).to.have.length(30)
      await clock.advance(EVERY_MS)
      expect([kept.size, events().length]).to.deep.equal([30, 1])
      isAway = true
      await clock.advance(EVERY_MS)
      expect(events()).to.have.length(2)
    })
  }

  for (const error of ['interaction_required', 'invalid_request'])
    it(`ask everybody in the same turn though the IdP says ${error} of some, end nobody by that, and say so once`, async () => {
      const idp: Idp = async () => {
        throw new LoginError('token_request_failed', { details: { error } })
      }
      const { look, asked, kept, events } = setUp({ names: many(30), idp })
      await look()
      expect([asked.length, kept.size]).to.deep.equal([30, 30])
      expect(events()).to.deep.equal([['session-check-failed', 'token_request_failed']])
    })

  // Shows: plugin 9.15.
  it('log repeated refusals of a session once, and again after a renewal', async () => {
    let isRefused = true
    const { clock, look, asked, lines } = setUp({
      idp: async () => {
        if (isRefused) throw new LoginError('token_request_failed', { details: { error: 'interaction_required' } })
      },
    })
    await look()
    for (let round = 0; round < 3; round += 1) await clock.advance(EVERY_MS)
    expect([asked.length, lines.length]).to.deep.equal([4, 1])
    isRefused = false
    await clock.advance(EVERY_MS)
    isRefused = true
    await clock.advance(EVERY_MS)
    expect([asked.length, lines.length]).to.deep.equal([6, 2])
  })

  // Shows: plugin 9.15.
  it('say of a session that ends after a lost answer why that may be', async () => {
    const failures = [AWAY, REFUSED]
    const { clock, look, lines } = setUp({
      idp: async () => {
        throw failures.shift()
      },
    })
    await look()
    await clock.advance(EVERY_MS)
    expect(lines.map(({ event }) => event)).to.deep.equal(['session-check-failed', 'session-ended'])
    expect(lines[1]?.message).to.match(/answer to the renewal before was lost.*sign in again/)
  })

  // Shows: plugin 9.15.
  it('have eight questions under way at an IdP, and wait for one that hangs nowhere else', async () => {
    const hung = deferred()
    const idp: Idp = (refresh) => (refresh.startsWith('hung') ? hung.promise : Promise.resolve())
    const { look, asked, all, checks } = setUp({ names: many(30), domains: ['hung', 'fine'], idp })
    await look()
    const of = (domainKey: string) => asked.filter((refresh) => refresh.startsWith(domainKey)).length
    expect([of('hung'), of('fine')]).to.deep.equal([8, 30])
    void checks.checkNow(all.slice(8, 30))
    await look()
    expect(of('hung')).to.equal(8)
    hung.resolve()
    await look()
    const names = asked.filter((refresh) => refresh.startsWith('hung')).map((refresh) => refresh.split(' ')[0])
    expect(new Set(names).size).to.equal(30)
  })

  describe('with other processes', () => {
    // Shows: plugin 9.15.
    it('ask nothing where another one has the lease, and give their own back', async () => {
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
      const of = (name: string) => log.filter((line) => new RegExp(` ${name}( |$)`).test(line))
      for (const name of ['b', 'c'])
        expect(of(name)).to.deep.equal([`took ${name}`, `asked ${name} 1`, `gave back ${name}`])
      expect(of('a')).to.deep.equal([])
    })

    it('go on with what another one has just renewed, found once they have the lease', async () => {
      const lease = async () => {
        const tokens = { access: 'theirs', accessExpiresAt: null, refresh: 'a 9' }
        kept.set('a', { idToken: null, tokens, renewedAt: clock.now() })
        return async () => undefined
      }
      const { clock, look, asked, kept } = setUp({ lease })
      await look()
      expect(asked).to.deep.equal([])
      await clock.advance(EVERY_MS)
      expect(asked).to.deep.equal([])
    })
  })

  it('check the other sessions of an ended one at once, after 1 s and after 30 s', async () => {
    const { clock, asked, all, checks, refreshOf } = setUp({ names: ['a', 'b'], everyMs: 0 })
    await checks.checkNow(all)
    expect(asked).to.deep.equal(['a 1', 'b 1'])
    for (const [ms, questions] of [
      [999, 2],
      [1, 4],
      [28_999, 4],
      [1, 6],
    ] as const) {
      await clock.advance(ms)
      expect(asked).to.have.length(questions)
    }
    expect(refreshOf('a')).to.equal('a 4')
    await clock.advance(600_000)
    expect([asked.length, clock.pending]).to.deep.equal([6, 0])
  })

  it('ask about those though the IdP was away a moment ago: who has sent a logout token is there', async () => {
    let isAway = true
    const idp: Idp = async () => {
      if (isAway) throw AWAY
    }
    const { look, asked, all, checks, refreshOf } = setUp({ idp })
    await look()
    isAway = false
    await checks.checkNow(all)
    expect([asked, refreshOf('a')]).to.deep.equal([['a 1', 'a 1'], 'a 2'])
  })

  it('ask about none that is being asked about', async () => {
    const hung = deferred()
    const { look, asked, all, checks } = setUp({ idp: () => hung.promise })
    await look()
    await checks.checkNow(all)
    expect(asked).to.deep.equal(['a 1'])
    hung.resolve()
  })

  it('are over once they are closed: nobody is asked any more, and nothing is planned', async () => {
    const hung = deferred()
    const { clock, look, asked, all, checks, lines } = setUp({ names: many(30), idp: () => hung.promise })
    await look()
    const work = checks.checkNow(all.slice(8))
    checks.close()
    hung.resolve()
    await work
    await clock.advance(600_000)
    expect([asked.length, clock.pending, lines]).to.deep.equal([8, 0, []])
  })
})
