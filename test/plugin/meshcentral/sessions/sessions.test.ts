import { expect } from 'chai'
import type { Response } from 'express'
import type { SignIn } from '../../../../plugin/host/port.ts'
import { keyOfHandle } from '../../../../plugin/host/revocations.ts'
import type { MeshDatabase, MeshRequest, MeshSocket, MeshUser } from '../../../../plugin/meshcentral/server.ts'
import { type Ended, endedInDatabase } from '../../../../plugin/meshcentral/sessions/ended.ts'
import {
  createOpenSessions,
  keysOfOpen,
  type OpenSessions,
  type SeenSession,
} from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/owner.ts'
import { sessionSecrets } from '../../../../plugin/meshcentral/sessions/session-secrets.ts'
import {
  type MeshSessions,
  type MeshSessionsOptions,
  meshSessions,
  ownSession,
} from '../../../../plugin/meshcentral/sessions/sessions.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { databaseOf, standIn } from '../stand-in.ts'

const SECRET = 'a secret of the server with more than 32 characters'
const USER = 'user//~oidc:1'
const SIGN_IN: SignIn = {
  domainKey: '',
  userId: '~oidc:1',
  issuer: 'https://idp.example',
  subject: '1',
  sid: 'sid',
  startedAt: 1_000,
  idToken: null,
  tokens: null,
}
const { idToken: _idToken, tokens: _tokens, ...RECORD } = SIGN_IN
const SESSION: SeenSession = { user: USER, x: 'x', signIn: { ...RECORD, handle: 'handle' } }

const socketThat = (close: () => void): MeshSocket => ({ on: () => undefined, emit: () => true, close })
const onFailure = (error: unknown) => {
  throw error
}
const sessionsOf = (options: Omit<MeshSessionsOptions, 'secrets' | 'onFailure'>, most = 100): MeshSessions => {
  const { server, clock } = options
  const secrets = sessionSecrets({ db: server.db, secret: SECRET, clock, onFailure, most })
  return meshSessions({ ...options, secrets, onFailure })
}
const response = { append: () => undefined } as unknown as Response

describe('a session of MeshCentral whose end the database does not answer', () => {
  let ended: Ended
  let open: OpenSessions
  let sessions: MeshSessions
  let destroyed: Record<string, number>
  /** Has the database answer what it was to write, with an error. */
  let fail: () => void

  beforeEach(async () => {
    const waiting: ((error?: unknown) => void)[] = []
    fail = () => {
      for (const done of waiting.splice(0)) done(new Error('disk full'))
    }
    const db: MeshDatabase = { ...databaseOf(), Set: (_record, done) => void (done && waiting.push(done)) }
    const { server, web } = standIn()
    web.users[USER] = { _id: USER, name: 'one', domain: '' } as MeshUser
    destroyed = web.destroyedSessions
    const clock = new FakeClock(10_000)
    ended = endedInDatabase(db, clock)
    await ended.endedAt([])
    open = createOpenSessions(clock, 10)
    sessions = sessionsOf({ server: { ...server, db }, web, ended, open, clock })
  })
  afterEach(() => ended.close())

  /** Of the browser of that session. */
  const request = () => {
    const session = { userid: USER, x: SESSION.x, oidcSignIn: SESSION.signIn }
    return { session, headers: {}, clientIp: '127.0.0.1' } as unknown as MeshRequest
  }
  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    'signs out': () => sessions.end(request(), response),
    'signs in once more': () => sessions.start(request(), response, SIGN_IN),
    'is signed out by the IdP': () => sessions.endMatching(request(), SIGN_IN),
    'has ended at the IdP': () => sessions.endOne(SESSION),
  }
  for (const [what, end] of Object.entries(ways)) {
    it(`has no page left open at once where the person ${what}, and the failure is told`, async () => {
      let isOpen = true
      const close = () => {
        isOpen = false
      }
      open.seen(SESSION, socketThat(close))
      const told = end().then(
        () => 'fine',
        (error: Error) => error.message,
      )
      expect(isOpen).to.equal(false)
      expect(open.usersIn().has(USER)).to.equal(false)
      expect(destroyed).to.have.all.keys(`${USER}/x`)
      expect(ended.latest([keyOfSealed(USER)])).to.equal(10_000)
      expect(ended.latest(keysOfOpen(SESSION.signIn))).to.equal(10_000)
      fail()
      expect(await told).to.match(/^The database could not write/)
    })
  }
})

describe('many sessions of MeshCentral', () => {
  it('end at once: what MeshCentral has ended of late is gone through a single time, and all of them are in it', async () => {
    const { server, web } = standIn()
    const clock = new FakeClock(100_000_000)
    const ended = endedInDatabase(server.db, clock)
    try {
      await ended.endedAt([])
      let readings = 0
      const destroyed = new Proxy<Record<string, number>>(
        { 'user//~oidc:0/long ago': 1, 'user//~oidc:0/of late': clock.now() - 1 },
        {
          ownKeys(target) {
            readings += 1
            return Reflect.ownKeys(target)
          },
        },
      )
      const open = createOpenSessions(clock, 1_000)
      const sessions = sessionsOf({ server, web: { ...web, destroyedSessions: destroyed }, ended, open, clock })
      const names = Array.from({ length: 50 }, (_, at) => String(at))
      let closed = 0
      for (const x of names) {
        open.seen(
          { user: USER, x, signIn: { ...RECORD, sid: x, handle: x } },
          socketThat(() => {
            closed += 1
          }),
        )
      }
      await sessions.endMatching({} as MeshRequest, { ...RECORD, sid: null })
      expect([readings, closed]).to.deep.equal([1, 50])
      expect(destroyed).to.have.all.keys('user//~oidc:0/of late', ...names.map((x) => `${USER}/${x}`))
    } finally {
      ended.close()
    }
  })
})

describe('a session of MeshCentral that a web relay alone tells of', () => {
  it('is over for MeshCentral too once the IdP has ended it, and no other one is', async () => {
    const { server, web } = standIn()
    const clock = new FakeClock(10_000)
    const ended = endedInDatabase(server.db, clock)
    try {
      await ended.endedAt([])
      const open = createOpenSessions(clock, 10)
      const sessions = sessionsOf({ server, web, ended, open, clock })
      for (const sid of ['one', 'other']) {
        const keys = keysOfOpen({ ...RECORD, sid, handle: sid })
        open.relays.opened(USER, { kind: 'session', keys, startedAt: 1_000 }, `x of ${sid}`)
      }
      await sessions.endMatching({} as MeshRequest, { ...RECORD, sid: 'one' })
      expect(web.destroyedSessions).to.deep.equal({ [`${USER}/x of one`]: 10_000 })
    } finally {
      ended.close()
    }
  })
})

describe('a session of MeshCentral that was not seen since the start', () => {
  it('is known by the tokens that are kept of it, which go once the IdP has ended it', async () => {
    const { server, web } = standIn()
    const clock = new FakeClock(10_000)
    const ended = endedInDatabase(server.db, clock)
    try {
      await ended.endedAt([])
      const before = sessionSecrets({ db: server.db, secret: SECRET, clock, onFailure })
      before.keep({ ...SIGN_IN, idToken: 'an ID token' }, 'handle', 900_000)
      const sessions = sessionsOf({ server, web, ended, open: createOpenSessions(clock), clock })
      const knows = (sid: string) => sessions.knows?.({} as MeshRequest, { ...RECORD, subject: null, sid })
      while (!(await knows('sid'))) await new Promise(setImmediate)
      expect(await knows('another')).to.equal(false)
      await sessions.endMatching({} as MeshRequest, RECORD)
      expect([await knows('sid'), (await before.read('handle')).idToken]).to.deep.equal([false, null])
    } finally {
      ended.close()
    }
  })
})

describe('a session of MeshCentral whose tokens had to make room', () => {
  it('ends with its pages: nobody could be asked about it any more', async () => {
    const { server, web } = standIn()
    web.users[USER] = { _id: USER, name: 'one', domain: '' } as MeshUser
    const clock = new FakeClock(10_000)
    const ended = endedInDatabase(server.db, clock)
    try {
      await ended.endedAt([])
      const open = createOpenSessions(clock, 10)
      const sessions = sessionsOf({ server, web, ended, open, clock }, 1)
      const tokens = { access: 'an access token', accessExpiresAt: null, refresh: null }
      const request = () => ({ session: {}, headers: {}, clientIp: '127.0.0.1' }) as unknown as MeshRequest
      const browser = request()
      await sessions.start(browser, response, { ...SIGN_IN, subject: 'another', tokens })
      const oldest = ownSession(browser)
      if (!oldest) throw new Error('nobody is signed in')
      let isOpen = true
      open.seen(
        oldest,
        socketThat(() => {
          isOpen = false
        }),
      )
      const another = request()
      await sessions.start(another, response, { ...SIGN_IN, tokens })
      expect(isOpen).to.equal(false)
      expect(ended.latest([keyOfHandle(oldest.signIn.handle)])).to.equal(10_000)
      expect(await sessions.current(browser)).to.equal(undefined)
      expect(await sessions.current(another)).to.deep.include({ subject: '1' })
    } finally {
      ended.close()
    }
  })
})
