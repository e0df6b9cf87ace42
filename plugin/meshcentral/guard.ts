import type { NextFunction, RequestHandler, Response } from 'express'
import { isSameRoute } from '../config/domains/route-names.ts'
import { cookieSignIn } from '../host/cookie-session.ts'
import type { Sessions } from '../host/port.ts'
import { MESSAGE } from './pages/login-page.ts'
import { notePage, reloadIfRefused } from './pages/open-page.ts'
import type { MeshRequest } from './server.ts'
import type { CurrentWork, Work } from './sessions/current-work.ts'
import { foreignSession, markForeign, type SessionOwner } from './sessions/foreign-sessions.ts'
import type { OpenSessions, SeenSession } from './sessions/open-sessions.ts'
import { isOurs } from './sessions/sealed-cookies.ts'
import { type MeshSessions, ownSession } from './sessions/sessions.ts'

export interface GuardedSessions extends Sessions, Pick<MeshSessions, 'counts' | 'acceptsIssuer'> {
  /** Whether the session has ended that something belongs to. A rejection means that nobody knows. */
  hasEnded(owner: SessionOwner): Promise<boolean>
}

export interface GuardOptions {
  readonly sessions: GuardedSessions
  readonly open: OpenSessions
  /** Ids of the domains whose logins are ours. */
  readonly domains: ReadonlySet<string>
  /** Whether the account of a session is locked. */
  readonly isLocked: (user: string) => boolean
  /** Called when a session has been ended since it is. */
  readonly onLocked: (user: string) => void
  /** Called with a request that brings no session which is known to count, before it loses the one that it brings. */
  readonly onUncertain: (req: MeshRequest) => void
  /** Called when nobody knows whether sessions have ended. */
  readonly onFailure: (error: unknown) => void
  readonly work: CurrentWork
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Lets only sessions through that still count, and keeps track of their web sockets. In place before MeshCentral's own
 * routes; web sockets pass through it as well.
 */
export function sessionGuard({
  sessions,
  open,
  domains,
  isLocked,
  onLocked,
  onUncertain,
  onFailure,
  work,
  now,
}: GuardOptions): RequestHandler {
  /**
   * At nearly each request: what the database told is in memory, and to wait for it took a small file a fifth of its
   * time.
   */
  function goesOn(req: MeshRequest, own: SeenSession): boolean {
    const keys = open.keysOf(own)
    if (!sessions.counts(own, keys) || isLocked(own.user) || leavesElsewhere(req, domains)) return false
    open.seen(own, req.ws, keys)
    return true
  }

  /** @returns the session where it still counts */
  async function checkOwn(req: MeshRequest, res: Response, own: SeenSession): Promise<SeenSession | undefined> {
    const counts = (await sessions.current(req)) !== undefined
    const locked = counts && isLocked(own.user)
    if (counts && !locked && !leavesElsewhere(req, domains)) {
      open.seen(own, req.ws)
      return own
    }
    if (counts) await sessions.end(req, res)
    signOut(req)
    if (locked) {
      Object.assign(req.session ?? {}, { loginmode: 1, messageid: MESSAGE.locked })
      onLocked(own.user)
    }
    return undefined
  }

  async function checkForeign(req: MeshRequest, user: string, owner: SessionOwner): Promise<undefined> {
    if (await sessions.hasEnded(owner)) signOut(req)
    else if (req.ws) open.seenSealed(owner, user, req.ws)
  }

  /** Nothing where there is nothing to ask: agents, and most who come, bring no session. */
  function check(req: MeshRequest, res: Response, own?: SeenSession): Promise<SeenSession | undefined> | undefined {
    if (own) return checkOwn(req, res, own)
    dropForeign(req, domains)
    const foreign = foreignSession(req)
    return foreign && checkForeign(req, foreign.user, foreign.owner)
  }

  return (req, res, next) => {
    const request = req as MeshRequest
    const goOn = (session?: SeenSession) => {
      const here = workFor(request, session)
      if (!request.ws) markForeign(request, res, here, domains, now)
      work.run(here, next)
    }
    if (request.ws) {
      notePage(request)
      if (domains.has(request.xdomain?.id ?? '-')) reloadIfRefused(request.ws)
    }
    const own = ownSession(request)
    if (own && goesOn(request, own)) {
      goOn(own)
      return
    }
    onUncertain(request)
    const checked = check(request, res, own)
    if (!checked) {
      goOn()
      return
    }
    checked.then(goOn, (error: unknown) => {
      onFailure(error)
      refuse(request, res, next)
    })
  }
}

/**
 * All domains of one host name share the cookie of the session: MeshCentral's logout of one without single sign-on
 * takes it away, and would leave the session as it is for whoever has a copy.
 */
function leavesElsewhere({ method, path, xdomain }: MeshRequest, domains: ReadonlySet<string>): boolean {
  if (!xdomain || domains.has(xdomain.id) || !['GET', 'HEAD'].includes(method)) return false
  return isSameRoute(path, `${xdomain.url}logout`)
}

/**
 * A session of one of our users that began neither by a login of ours nor at MeshCentral's own routes: no end of a
 * session would end it. The web relay makes such, and so did the built-in strategy. And a record of ours in a session
 * of somebody else's.
 */
function dropForeign(req: MeshRequest, domains: ReadonlySet<string>): void {
  const { session } = req
  if (!session) return
  if (typeof session.userid === 'string' && isOurs(session.userid, domains) && !foreignSession(req)) signOut(req)
  else if (cookieSignIn(req)) delete session.oidcSignIn
}

function workFor(req: MeshRequest, session: SeenSession | undefined): Work {
  const { path, query, ws } = req
  const foreign = session ? undefined : foreignSession(req)
  // What is sealed for a session that a login cookie began ends with that cookie's session.
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
  Reflect.set(req, 'session', {})
}

/** Somebody who may have signed out is nobody, but does not lose the session for a database that does not answer. */
function refuse(req: MeshRequest, res: Response, next: NextFunction): void {
  if (req.ws) req.ws.close()
  else if (res.headersSent) next()
  else
    res.status(503).set('Retry-After', '5').type('text/plain').send('The server cannot check sessions at the moment.')
}
