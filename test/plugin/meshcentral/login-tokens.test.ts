import { expect } from 'chai'
import { MeshLoginTokens } from '../../../plugin/meshcentral/people/login-tokens.ts'
import type { Members, MeshDatabase, MeshSocket } from '../../../plugin/meshcentral/server.ts'
import { keyOfDirectLogins } from '../../../plugin/meshcentral/sessions/cookie-owner.ts'
import { followWork, type Work } from '../../../plugin/meshcentral/sessions/current-work.ts'
import { OpenSessions } from '../../../plugin/meshcentral/sessions/open-sessions.ts'
import { tokenRefusals, watchTokenLogins } from '../../../plugin/meshcentral/sessions/token-logins.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { messageOf } from '../../support/message-of.ts'
import { databaseOf } from './stand-in.ts'

const NOW = 1_000_000
const DAY_MS = 24 * 60 * 60_000
const USER = 'user//~oidc:bob'
const ID = '~oidc:bob'
const BOB = ['', ID] as const

describe('login tokens of MeshCentral', () => {
  let clock: FakeClock
  let records: Map<string, Members>
  let ended: string[]
  beforeEach(() => {
    clock = new FakeClock(NOW)
    records = new Map()
    ended = []
  })
  const open = (days: number | null = null, db: MeshDatabase = databaseOf(records)) =>
    new MeshLoginTokens({ db, clock, days, endDirectLogins: async (user) => void ended.push(user) })

  it('by default, login tokens never expire, even if no login of the user was recorded', async () => {
    expect(await open().verdictOn(USER)).to.deep.equal({ works: true, until: Number.POSITIVE_INFINITY })
  })

  // Shows: plugin 6.11.
  it('login tokens of a refused user stay suspended until a login, despite a restart', async () => {
    const [first, second] = [open(), open()]
    await first.confirm(...BOB, 'login')
    await first.suspend(...BOB)
    expect(ended).to.deep.equal([USER])
    await clock.advance(2 * 60 * 60_000)
    await second.confirm(...BOB, 'renewal')
    for (const server of [first, second, open()]) {
      expect(await server.verdictOn(USER)).to.deep.equal({ works: false, reason: 'suspended' })
    }
    await second.confirm(...BOB, 'login')
    for (const server of [first, second, open()]) expect(await server.verdictOn(USER)).to.include({ works: true })
  })

  // Shows: plugin 6.11.
  it('login tokens work for loginTokenDays after the last login or renewal', async () => {
    const tokens = open(2)
    expect(await tokens.verdictOn(USER)).to.deep.equal({ works: false, reason: 'no_login' })
    await tokens.confirm(...BOB, 'login')
    expect(await tokens.verdictOn(USER)).to.deep.equal({ works: true, until: NOW + 2 * DAY_MS })
    await clock.advance(DAY_MS)
    await tokens.confirm(...BOB, 'renewal')
    await clock.advance(2 * DAY_MS - 1)
    expect(await tokens.verdictOn(USER)).to.deep.equal({ works: true, until: NOW + 3 * DAY_MS })
    await clock.advance(1)
    expect(await tokens.verdictOn(USER)).to.deep.equal({ works: false, reason: 'too_old' })
  })

  it('writes the renewal time of login tokens to the database at most once an hour', async () => {
    const tokens = open()
    let writes = 0
    const db = databaseOf(records)
    const countSet: MeshDatabase['Set'] = (...args) => {
      writes += 1
      db.Set(...args)
    }
    const counting = open(null, { ...db, Set: countSet })
    await tokens.confirm(...BOB, 'login')
    for (const ms of [0, 30 * 60_000, 31 * 60_000]) {
      await clock.advance(ms)
      await counting.confirm(...BOB, 'renewal')
    }
    expect(writes).to.equal(2)
  })

  // Shows: plugin 6.11.
  it("refuses a user's login tokens if their suspension cannot be read or written", async () => {
    const db = databaseOf(records)
    const failing: MeshDatabase = {
      ...db,
      Get: (_id, done) => done(new Error('gone')),
      Set: (_record, done) => done?.(new Error('full')),
    }
    const tokens = open(null, failing)
    expect(await messageOf(tokens.verdictOn(USER))).to.match(/could not read whether login tokens work/)
    expect(await messageOf(tokens.suspend(...BOB))).to.match(/could not write whether login tokens work/)
    expect(ended).to.deep.equal([USER])
    expect(await tokens.verdictOn(USER)).to.deep.equal({ works: false, reason: 'suspended' })
  })

  describe("login tokens in MeshCentral's function authenticate", () => {
    const domains = new Set([''])
    const work = followWork(databaseOf())
    const socketOf = (closed: string[]) =>
      ({ close: () => void closed.push('closed'), on: () => undefined, emit: () => false }) as unknown as MeshSocket

    /** Signs in with a token and a correct secret. @returns the answer, and the request with its owners so far */
    async function answer(
      user: string,
      { days = null as number | null, socket = undefined as MeshSocket | undefined, isUnknown = false } = {},
    ) {
      const web = {
        authenticate: (_n: unknown, _s: unknown, _d: unknown, done: (...a: unknown[]) => void) => done(null, user),
      }
      const failures: unknown[] = []
      const lines: string[] = []
      const tokens = open(days)
      const openSessions = new OpenSessions(clock)
      watchTokenLogins({
        ...{ web, tokens, work, open: openSessions, domains, clock },
        onRefused: tokenRefusals({ authLog: (_source, text) => lines.push(text) }, clock),
        onFailure: (error) => failures.push(error),
      })
      const current: Work = { path: '/', query: {}, request: undefined, session: undefined, socket, brought: new Map() }
      const authenticate = () =>
        new Promise<readonly unknown[]>((resolve) => web.authenticate('~t:x', 'y', {}, (...args) => resolve(args)))
      const result = isUnknown
        ? await authenticate()
        : await new Promise<readonly unknown[]>((resolve) => work.run(current, () => void authenticate().then(resolve)))
      return { result, current, lines, openSessions }
    }

    it("a connection opened with a login token closes when the user's login is refused", async () => {
      const closed: string[] = []
      const { result, current, openSessions } = await answer(USER, { socket: socketOf(closed) })
      expect(result).to.deep.equal([null, USER])
      expect(current.brought.get(USER)).to.deep.equal({
        kind: 'session',
        keys: [keyOfDirectLogins(USER)],
        startedAt: NOW,
      })
      openSessions.end([keyOfDirectLogins(USER)])
      expect(closed).to.deep.equal(['closed'])
    })

    it('suspended login tokens are refused, with one log line an hour', async () => {
      await open().suspend(...BOB)
      const { result, lines, current } = await answer(USER)
      expect(String(result[0])).to.equal('Error: login token refused')
      expect(current.brought.size).to.equal(0)
      expect(lines).to.have.length(1)
      expect(lines[0]).to.match(/^WARN login-token-refused: /)
      const log = tokenRefusals({ authLog: (_source, text) => lines.push(text) }, clock)
      for (const ms of [0, 59 * 60_000, 60_000]) {
        await clock.advance(ms)
        log(USER, 'suspended')
      }
      expect(lines).to.have.length(3)
    })

    // Shows: plugin 6.11.
    it("refuses a single sign-on user's login token if its request cannot be determined", async () => {
      expect(String((await answer(USER, { isUnknown: true })).result[0])).to.equal('Error: login token refused')
      for (const user of ['user//bob', 'user/customer/~oidc:bob']) {
        expect((await answer(user, { isUnknown: true })).result).to.deep.equal([null, user])
      }
    })

    // Shows: plugin 6.11.
    it('a connection opened with a login token closes when loginTokenDays have passed', async () => {
      const closed: string[] = []
      await open(1).confirm(...BOB, 'login')
      await answer(USER, { days: 1, socket: socketOf(closed) })
      await clock.advance(DAY_MS - 1)
      expect(closed).to.deep.equal([])
      await clock.advance(1)
      expect(closed).to.deep.equal(['closed'])
    })
  })
})
