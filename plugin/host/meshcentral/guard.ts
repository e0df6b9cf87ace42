import type { NextFunction, RequestHandler, Response } from 'express'
import { cookieSignIn } from '../cookie-session.ts'
import type { Sessions } from '../port.ts'
import type { MeshRequest } from './server.ts'
import type { OpenSession, OpenSessions } from './sessions/open-sessions.ts'
import { isOurs } from './sessions/sealed.ts'
import { ownSession } from './sessions/sessions.ts'
import type { CurrentWork, Work } from './sessions/work.ts'

export interface GuardOptions {
  readonly sessions: Sessions
  readonly open: OpenSessions
  /** Ids of the domains whose logins are ours. */
  readonly domains: ReadonlySet<string>
  /** Called when nobody knows whether sessions have ended. */
  readonly onFailure: (error: unknown) => void
  readonly work: CurrentWork
}

/**
 * Lets only sessions through that still count, and keeps track of their web sockets. In place before MeshCentral's own routes; web
 * sockets pass through it as well.
 */
export function sessionGuard(options: GuardOptions): RequestHandler {
  return (req, res, next) => {
    const request = req as MeshRequest
    const own = ownSession(request)
    if (!own) {
      dropForeign(request, options)
      options.work.run(workFor(request, undefined), next)
      return
    }
    options.sessions.current(req).then(
      (signIn) => {
        if (signIn) options.open.seen(own, request.ws)
        else signOut(request)
        options.work.run(workFor(request, signIn && own), next)
      },
      (error: unknown) => {
        options.onFailure(error)
        refuse(request, res, next)
      },
    )
  }
}

/** A record of ours in a session of somebody else's, and a session that the built-in strategy began, which no IdP could end. */
function dropForeign(req: MeshRequest, { domains }: GuardOptions): void {
  const { session } = req
  if (!session) return
  if (session.passport !== undefined && typeof session.userid === 'string' && isOurs(session.userid, domains))
    signOut(req)
  else if (cookieSignIn(req)) delete session.oidcSignIn
}

function workFor({ path, ws }: MeshRequest, session: OpenSession | undefined): Work {
  return { path, session, socket: ws, brought: new Map() }
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
