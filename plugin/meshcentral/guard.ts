import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { isSameRoute } from '../config/domains/route-names.ts'
import { cookieSignIn } from '../host/cookie-session.ts'
import { MESSAGE } from './pages/login-page.ts'
import { notePage, reloadIfRefused } from './pages/open-page.ts'
import { type MeshRequest, meshRequest } from './server.ts'
import type { SessionOwner } from './sessions/cookie-owner.ts'
import type { CurrentWork, Work } from './sessions/current-work.ts'
import { foreignSession, markForeign } from './sessions/foreign-sessions.ts'
import type { OpenSessions, SeenSession } from './sessions/open-sessions.ts'
import { isOurs } from './sessions/sealed-cookies.ts'
import { type MeshSessions, ownSession } from './sessions/sessions.ts'

export interface GuardOptions {
  readonly sessions: Pick<MeshSessions, 'counts' | 'current' | 'end' | 'hasEnded'>
  readonly open: OpenSessions
  /** Ids of the domains with the plugin's single sign-on. */
  readonly domains: ReadonlySet<string>
  /** Whether the account of a session is locked. */
  readonly isLocked: (user: string) => boolean
  /** Called after {@link sessionGuard} ended a session because the session's account is locked. */
  readonly onLocked: (user: string) => void
  /**
   * Called for a request without a session, or with a session that may have ended, before {@link sessionGuard} removes
   * it.
   */
  readonly onUncertain: (req: MeshRequest) => void
  /** Called if the database fails during the check of a session. */
  readonly onFailure: (error: unknown) => void
  readonly work: CurrentWork
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Removes ended sessions from requests, and tracks the web sockets of valid ones. Runs before MeshCentral's routes.
 *
 * A request continues at once if this process's memory shows that its session is valid. Otherwise the guard asks the
 * database. An ended session is removed from the request. If the database fails, the answer is status 503.
 *
 * MeshCentral can begin sessions for the plugin's users, for example by a login token. They are kept only if they began
 * in a request that had passed the guard.
 */
export function sessionGuard(options: GuardOptions): RequestHandler {
  const guard = new SessionGuard(options)
  return (req, res, next) => guard.handle(req, res, next)
}

class SessionGuard {
  readonly #options: GuardOptions

  constructor(options: GuardOptions) {
    this.#options = options
  }

  handle(req: Request, res: Response, next: NextFunction): void {
    const { domains, onUncertain, onFailure } = this.#options
    const request = meshRequest(req)
    if (request.ws) {
      notePage(request)
      if (domains.has(request.xdomain?.id ?? '-')) reloadIfRefused(request.ws)
    }
    const session = ownSession(request)
    if (session && this.#countsByMemory(request, session)) {
      this.#pass(request, res, next, session)
      return
    }
    onUncertain(request)
    const checked = this.#checkByDatabase(request, req, res, session)
    if (!checked) {
      this.#pass(request, res, next, undefined)
      return
    }
    checked.then(
      (checkedSession) => this.#pass(request, res, next, checkedSession),
      (error: unknown) => {
        onFailure(error)
        refuse(request, res, next)
      },
    )
  }

  /** Passes the request to the next handler. Meanwhile the request is the current work of {@link CurrentWork}. */
  #pass(request: MeshRequest, res: Response, next: NextFunction, session: SeenSession | undefined): void {
    const { domains, work, now } = this.#options
    const current = workFor(request, session)
    if (!request.ws) markForeign(request, res, current, domains, now)
    work.run(current, next)
  }

  /**
   * Whether the session is valid by this process's memory, as nearly all are. Awaiting a promise took a fifth of the
   * time to serve a small file.
   */
  #countsByMemory(request: MeshRequest, session: SeenSession): boolean {
    const { sessions, open, domains, isLocked } = this.#options
    const keys = open.keysOf(session)
    if (!sessions.counts(session, keys) || isLocked(session.user) || isLogoutElsewhere(request, domains)) return false
    open.note(session, request.ws, keys)
    return true
  }

  /**
   * Checks the session in the database. Returns undefined, without a promise, for requests without a session. Most
   * agents and visitors send none.
   */
  #checkByDatabase(
    request: MeshRequest,
    req: Request,
    res: Response,
    session: SeenSession | undefined,
  ): Promise<SeenSession | undefined> | undefined {
    if (session) return this.#checkOwn(request, req, res, session)
    dropUnknown(request, this.#options.domains)
    const foreign = foreignSession(request)
    return foreign && this.#checkForeign(request, foreign.user, foreign.owner)
  }

  /** @returns the session, or undefined if it is no longer valid */
  async #checkOwn(
    request: MeshRequest,
    req: Request,
    res: Response,
    session: SeenSession,
  ): Promise<SeenSession | undefined> {
    const { sessions, open, domains, isLocked, onLocked } = this.#options
    const counts = (await sessions.current(req)) !== undefined
    const locked = counts && isLocked(session.user)
    if (counts && !locked && !isLogoutElsewhere(request, domains)) {
      open.note(session, request.ws)
      return session
    }
    if (counts) await sessions.end(req, res)
    signOut(request)
    if (locked) {
      Object.assign(request.session ?? {}, { loginmode: 1, messageid: MESSAGE.locked })
      onLocked(session.user)
    }
    return undefined
  }

  async #checkForeign(request: MeshRequest, user: string, owner: SessionOwner): Promise<undefined> {
    const { sessions, open } = this.#options
    if (await sessions.hasEnded(owner)) signOut(request)
    else if (request.ws) open.noteSealed(owner, user, request.ws)
  }
}

/**
 * Whether the request logs out of a domain without single sign-on. MeshCentral only removes the shared cookie, so a
 * copy would stay valid.
 */
function isLogoutElsewhere({ method, path, xdomain }: MeshRequest, domains: ReadonlySet<string>): boolean {
  if (!xdomain || domains.has(xdomain.id) || !['GET', 'HEAD'].includes(method)) return false
  return isSameRoute(path, `${xdomain.url}logout`)
}

/**
 * Removes a session of a plugin's user that neither the plugin nor a guarded request began. MeshCentral's web relay
 * begins such sessions. No revocation would end them. Also removes the plugin's record from another user's session.
 */
function dropUnknown(req: MeshRequest, domains: ReadonlySet<string>): void {
  const { session } = req
  if (!session) return
  if (typeof session.userid === 'string' && isOurs(session.userid, domains) && !foreignSession(req)) signOut(req)
  else if (cookieSignIn(req)) delete session.oidcSignIn
}

/**
 * Describes a request as {@link Work}. If a login cookie began its session, cookies that MeshCentral seals get the same
 * owner.
 */
function workFor(req: MeshRequest, session: SeenSession | undefined): Work {
  const { path, query, ws } = req
  const foreign = session ? undefined : foreignSession(req)
  return {
    path,
    query,
    request: req,
    session,
    socket: ws,
    brought: new Map(foreign ? [[foreign.user, foreign.owner]] : []),
  }
}

function signOut(req: MeshRequest): void {
  req.session = {}
}

/** Refuses a request, but keeps its session, because an outage of the database must not sign users out. */
function refuse(req: MeshRequest, res: Response, next: NextFunction): void {
  if (req.ws) req.ws.close()
  else if (res.headersSent) next()
  else
    res.status(503).set('Retry-After', '5').type('text/plain').send('The server cannot check sessions at the moment.')
}
