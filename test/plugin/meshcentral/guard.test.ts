import { EventEmitter } from 'node:events'
import { expect } from 'chai'
import type { Request, Response } from 'express'
import { type GuardOptions, sessionGuard } from '../../../plugin/meshcentral/guard.ts'
import type { Members, MeshRequest } from '../../../plugin/meshcentral/server.ts'
import { followWork, type Work } from '../../../plugin/meshcentral/sessions/current-work.ts'
import { OpenSessions } from '../../../plugin/meshcentral/sessions/open-sessions.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { session, USER } from './sessions/server-sessions.ts'
import { databaseOf } from './stand-in.ts'

const { signIn: oidcSignIn } = session('h')

/** MeshCentral's reaction to a request. */
type Route = (req: MeshRequest, work: Work | undefined) => void

describe("check of MeshCentral's sessions at each request", () => {
  /** The sessions of the last request that were not known to be valid. */
  let uncertain: Members[] = []
  /**
   * Resolves once a request with this session is answered.
   *
   * @returns the status (200 if the request passed the guard) and the resulting session
   */
  async function answer(
    session: Members | null,
    route: Route = () => undefined,
    hasEnded = async () => false,
    overrides: object = {},
  ) {
    const work = followWork(databaseOf())
    const req = Object.assign(new EventEmitter(), {
      path: '/',
      session: structuredClone(session),
    }) as object as MeshRequest
    const failures: unknown[] = []
    uncertain = []
    const guard = sessionGuard({
      sessions: { hasEnded, ...overrides } as unknown as GuardOptions['sessions'],
      open: new OpenSessions(new FakeClock(10_000)),
      domains: new Set(['']),
      isLocked: () => false,
      onLocked: () => undefined,
      onUncertain: (req) => void uncertain.push({ ...req.session }),
      onFailure: (error) => void failures.push(error),
      work,
      now: () => 10_000,
    })
    const status = await new Promise<number>((resolve) => {
      const res: object = {
        headersSent: false,
        writeHead: resolve,
        status(code: number) {
          resolve(code)
          return res
        },
        set: () => res,
        type: () => res,
        send: () => res,
      }
      guard(req as unknown as Request, res as Response, () => {
        route(req, work.get())
        ;(res as Response).writeHead(200)
      })
    })
    return { status, session: req.session, failures }
  }
  const begins =
    (session: Members): Route =>
    (req) => {
      Reflect.set(req, 'session', { ...req.session, ...session })
    }

  it('leaves sessions of accounts without single sign-on unchanged', async () => {
    for (const userid of ['user//admin', 'user//~saml:1', 'user//~', 'user/elsewhere/~oidc:1']) {
      const session = { userid, x: 'x', loginToken: '~t:1', passport: {} }
      expect(await answer(session)).to.deep.equal({ status: 200, session, failures: [] })
      expect((await answer({}, begins(session))).session).to.deep.equal(session)
    }
    expect(await answer(null)).to.deep.equal({ status: 200, session: null, failures: [] })
  })

  it('signs out a single sign-on user if no login of the plugin made the session', async () => {
    const { session: startedSession } = await answer({}, begins({ userid: USER, x: 'x' }))
    for (const session of [
      { userid: USER, x: 'x' },
      { userid: USER },
      { userid: USER, x: 'x', passport: { user: '1' } },
      { userid: USER, x: 'x', loginToken: '~t:1' },
      { userid: USER, x: 'x', oidcApart: {} },
      { userid: USER, x: 'x', oidcApart: true },
      { ...startedSession, x: 'of another session' },
      { ...startedSession, userid: 'user//~oidc:2' },
      { oidcApart: { user: USER }, userid: USER },
    ]) {
      expect((await answer(session)).session, JSON.stringify(session)).to.deep.equal({})
    }
  })

  it('keeps a session that MeshCentral itself begins while it answers a request', async () => {
    for (const members of [{ x: 'x' }, { x: 'x', loginToken: '~t:1', ip: '1.2.3.4' }, {}]) {
      const { session } = await answer({ theme: 'dark' }, begins({ userid: USER, ...members }))
      expect(session).to.include({ userid: USER, theme: 'dark', ...members })
      expect((await answer(session)).session).to.deep.equal(session)
    }
  })

  it('looks up a session in the store only if its validity is not known yet', async () => {
    const session = { userid: USER, x: 'x', oidcSignIn }
    const answerIf = (counts: boolean, current: unknown) =>
      answer(session, undefined, undefined, { counts: () => counts, current: async () => current })
    expect((await answerIf(true, undefined)).session).to.deep.equal(session)
    expect(uncertain).to.deep.equal([])
    expect((await answerIf(false, oidcSignIn)).session).to.deep.equal(session)
    expect((await answerIf(false, undefined)).session).to.deep.equal({})
    expect(uncertain).to.deep.equal([session])
    // MeshCentral may have removed the user from the session.
    await answer({ oidcSignIn })
    expect(uncertain).to.deep.equal([{ oidcSignIn }])
  })

  it("marks a session that replaces the plugin's session as a session of MeshCentral", async () => {
    const answerSignedIn = (route: Route) =>
      answer({ userid: USER, x: 'x', oidcSignIn }, route, undefined, { counts: () => true })
    const changes: readonly Route[] = [
      (req) => Object.assign(req.session ?? {}, { userid: 'user//~oidc:2' }),
      (req) => Reflect.set(req, 'session', { userid: USER, x: 'x' }),
      ({ session }) => delete session?.x,
    ]
    for (const change of changes) expect((await answerSignedIn(change)).session).to.have.property('oidcApart')
    expect((await answerSignedIn(() => undefined)).session).not.to.have.property('oidcApart')
  })

  it('a session from a login link ends with the session that created the link', async () => {
    const owner = { kind: 'session', keys: ['k'], startedAt: 1 } as const
    const { session } = await answer({}, (req, work) => {
      work?.brought.set(USER, owner)
      begins({ userid: USER, x: 'x' })(req, work)
    })
    let owners: unknown
    const note: Route = (_req, work) => {
      owners = work?.brought.get(USER)
    }
    expect((await answer(session, note)).session).to.deep.equal(session)
    expect(owners).to.deep.equal(owner)
    expect((await answer(session, undefined, async () => true)).session).to.deep.equal({})
    const failure = new Error('no database')
    const unknown = await answer(session, undefined, () => Promise.reject(failure))
    expect(unknown).to.deep.equal({ status: 503, session, failures: [failure] })
  })
})
