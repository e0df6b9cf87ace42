import { expect } from 'chai'
import type { Request, Response } from 'express'
import type { SignIn } from '../../../../plugin/host/port.ts'
import { keyOfHandle } from '../../../../plugin/host/revocations.ts'
import type { MeshDatabase, MeshRequest, MeshUser } from '../../../../plugin/meshcentral/server.ts'
import { keyOfSealed } from '../../../../plugin/meshcentral/sessions/cookie-owner.ts'
import { keysOfOpen } from '../../../../plugin/meshcentral/sessions/open-sessions.ts'
import { ownSession } from '../../../../plugin/meshcentral/sessions/sessions.ts'
import { messageOf } from '../../../support/message-of.ts'
import { until } from '../../../support/until.ts'
import { databaseOf } from '../stand-in.ts'
import { Socket, session, sessionsOfServers, USER } from './server-sessions.ts'

const SESSION = session('a')
const SIGN_IN: SignIn = { ...SESSION.signIn, idToken: null, tokens: null }
/** A request as Express and MeshCentral type it. */
type BothRequest = Request & MeshRequest

const NOTHING = {} as BothRequest
const response = { append: () => undefined } as unknown as Response
const requestWith = (members: object) =>
  ({ session: members, headers: {}, clientIp: '127.0.0.1' }) as unknown as BothRequest

describe('login, revocation and search of single sign-on sessions in MeshCentral', () => {
  const setUp = sessionsOfServers()

  describe('revocation while the database does not answer', () => {
    const ways: Readonly<
      Record<string, (server: Awaited<ReturnType<typeof setUp>>, req: BothRequest) => Promise<unknown>>
    > = {
      'the user signs out': ({ sessions }, req) => sessions.end(req, response),
      'the user signs in again': ({ sessions }, req) => sessions.start(req, response, SIGN_IN),
      'the IdP signs the user out': ({ sessions }, req) => sessions.endMatching(req, SIGN_IN),
      'the session ended at the IdP': ({ sessions }) => sessions.endOne(SESSION),
    }
    for (const [condition, end] of Object.entries(ways)) {
      it(`closes the session's pages before the revocation is stored if ${condition}`, async () => {
        const waiting: ((error?: unknown) => void)[] = []
        const db: MeshDatabase = { ...databaseOf(), Set: (_record, done) => void (done && waiting.push(done)) }
        const all = await setUp({ db })
        const { web, open, revocations } = all
        web.users[USER] = { _id: USER, name: 'one', domain: '' } as MeshUser
        const page = new Socket()
        open.note(SESSION, page)
        const browser = requestWith({ userid: USER, x: SESSION.x, oidcSignIn: SESSION.signIn })
        const failure = messageOf(end(all, browser))
        expect(page.isOpen).to.equal(false)
        expect(open.hasSession(USER)).to.equal(false)
        expect(web.destroyedSessions).to.have.all.keys(`${USER}/${SESSION.x}`)
        expect(revocations.latest([keyOfSealed(USER)])).to.equal(10_000)
        expect(revocations.latest(keysOfOpen(SESSION.signIn))).to.equal(10_000)
        for (const done of waiting.splice(0)) done(new Error('disk full'))
        expect(await failure).to.match(/^The database could not write/)
      })
    }
  })

  // Shows: meshcentral 13, 17, 25.
  it("a login replaces the browser's session, and sets the account's last login time", async () => {
    const { web, sessions, clock } = await setUp()
    const browser = requestWith({})
    const names: unknown[] = []
    for (const [subject, timeS] of [
      ['1', 20],
      ['1', 30],
      ['2', 40],
    ] as const) {
      const user = `user//~oidc:${subject}`
      web.users[user] ??= { _id: user, name: subject, domain: '' } as MeshUser
      clock.set(timeS * 1_000 + 999)
      await sessions.start(browser, response, {
        ...SIGN_IN,
        userId: `~oidc:${subject}`,
        subject,
        startedAt: clock.now(),
      })
      expect(browser.session?.userid).to.equal(user)
      expect(web.users[user]).to.include({ login: timeS, access: timeS })
      names.push(`${user}/${browser.session?.x}`)
    }
    expect(new Set(names).size).to.equal(3)
    expect(web.destroyedSessions).to.have.all.keys(names.slice(0, 2))
  })

  // Shows: meshcentral 12.
  it('a login that began earlier but finishes later does not replace the session', async () => {
    const { web, sessions, clock } = await setUp()
    web.users[USER] = { _id: USER, name: 'one', domain: '' } as MeshUser
    const browser = requestWith({})
    const login = (startedAt: number, requestedAt: number) =>
      sessions.start(browser, response, { ...SIGN_IN, startedAt }, requestedAt)
    clock.set(20_000)
    await login(20_000, 9_000)
    const { x } = browser.session ?? {}
    clock.set(30_000)
    await login(29_000, 10_000)
    expect(browser.session?.x).to.equal(x)
    // A login that begins after the session replaces it.
    await login(29_000, 21_000)
    expect(browser.session?.x).not.to.equal(x)
  })

  it('a session is valid from its start until it ends or is too old', async () => {
    const { open, sessions, clock } = await setUp()
    open.note(SESSION)
    await sessions.endOne(SESSION)
    const secondSession = session('b', 2)
    const counting = () => [SESSION, secondSession].map((session) => sessions.counts(session, open.keysOf(session)))
    expect(counting()).to.deep.equal([false, true])
    open.note(secondSession)
    expect(counting()).to.deep.equal([false, true])
    clock.set(2 + 14 * 24 * 60 * 60_000)
    expect(counting()).to.deep.equal([false, false])
  })

  it("reads MeshCentral's list of ended sessions once even if many end together", async () => {
    const { web, open, sessions, clock } = await setUp({ now: 100_000_000 })
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
    Object.assign(web, { destroyedSessions: destroyed })
    const all = Array.from({ length: 50 }, (_, index) => session(String(index)))
    const sockets = all.map((session) => {
      const socket = new Socket()
      open.note(session, socket)
      return socket
    })
    await sessions.endMatching(NOTHING, { ...SIGN_IN, sid: null })
    expect(readings).to.equal(1)
    expect(sockets.filter(({ isOpen }) => isOpen)).to.deep.equal([])
    expect(destroyed).to.have.all.keys('user//~oidc:0/of late', ...all.map(({ x }) => `${USER}/${x}`))
  })

  it("MeshCentral's destroyedSessions gets an ended session that only a web relay used", async () => {
    const { web, open, sessions } = await setUp()
    for (const { signIn, x } of [session('a'), session('b')]) {
      open.relays.opened(USER, { kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }, x)
    }
    await sessions.endMatching(NOTHING, SIGN_IN)
    expect(web.destroyedSessions).to.deep.equal({ [`${USER}/x of a`]: 10_000 })
  })

  it('after a restart, a sid is found in the stored tokens until its session ends', async () => {
    const db = databaseOf()
    const { secrets } = await setUp({ db })
    secrets.keep({ ...SIGN_IN, idToken: 'an ID token' }, 'a', 900_000)
    const { sessions } = await setUp({ db })
    const knows = (sid: string) => sessions.knows?.(NOTHING, { ...SIGN_IN, subject: null, sid })
    await until('the stored tokens', () => knows('sid of a'))
    expect(await knows('another')).to.equal(false)
    await sessions.endMatching(NOTHING, SIGN_IN)
    expect(await knows('sid of a')).to.equal(false)
    expect((await secrets.read('a')).idToken).to.equal(null)
  })

  it('lists sessions that match a filter, with their tokens; each can be ended alone', async () => {
    const { open, secrets, sessions } = await setUp()
    for (const handle of ['a', 'b', 'c']) {
      const openSession = session(handle)
      open.note(openSession)
      secrets.keep({ ...openSession.signIn, idToken: `that of ${handle}`, tokens: null }, handle, 900_000)
    }
    const matching = async (filter: object) => (await sessions.matching?.(NOTHING, { ...SIGN_IN, ...filter })) ?? []
    expect(await matching({ subject: 'another' })).to.deep.equal([])
    const [first, ...rest] = await matching({ subject: '1', sid: null })
    expect(await Promise.all([first, ...rest].map((each) => each?.read()))).to.deep.equal(
      ['a', 'b', 'c'].map((handle) => ({ idToken: `that of ${handle}`, tokens: null })),
    )
    await first?.end()
    expect((await matching({ subject: '1', sid: null })).map(({ id }) => id)).to.deep.equal(rest.map(({ id }) => id))
  })

  it('a session ends and its pages close if newer tokens displace its stored tokens', async () => {
    const { web, open, sessions, revocations } = await setUp({ most: 1 })
    web.users[USER] = { _id: USER, name: 'one', domain: '' } as MeshUser
    const tokens = { access: 'an access token', accessExpiresAt: null, refresh: null }
    const [browser, another] = [requestWith({}), requestWith({})]
    await sessions.start(browser, response, { ...SIGN_IN, subject: 'another', tokens })
    const oldest = ownSession(browser)
    if (!oldest) throw new Error('there is no session')
    const page = new Socket()
    open.note(oldest, page)
    await sessions.start(another, response, { ...SIGN_IN, tokens })
    expect(page.isOpen).to.equal(false)
    expect(revocations.latest([keyOfHandle(oldest.signIn.handle)])).to.equal(10_000)
    expect(await sessions.current(browser)).to.equal(undefined)
    expect(await sessions.current(another)).to.deep.include({ subject: '1' })
  })
})
