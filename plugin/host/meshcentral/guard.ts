import type { NextFunction, RequestHandler, Response } from 'express'
import { cookieSignIn } from '../cookie-session.ts'
import type { Sessions } from '../port.ts'
import { type Ended, keyOfSealed } from './ended.ts'
import type { OpenSessions } from './open-sessions.ts'
import type { MeshCookie, MeshRequest, MeshServer } from './server.ts'
import { ownSession } from './sessions.ts'

export interface GuardOptions {
  readonly sessions: Sessions
  readonly open: OpenSessions
  /** Ids of the domains whose logins are ours. */
  readonly domains: ReadonlySet<string>
  /** Called when nobody knows whether sessions have ended. */
  readonly onFailure: (error: unknown) => void
  /** Opens what MeshCentral sealed for a page to open its sockets with. */
  readonly unseal: (sealed: unknown) => MeshCookie | null
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
      noteAlone(request, options)
      next()
      return
    }
    options.sessions.current(req).then(
      (signIn) => {
        if (signIn) options.open.seen(own, request.ws)
        else signOut(request)
        next()
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

function noteAlone(req: MeshRequest, { open, domains, unseal }: GuardOptions): void {
  if (!req.ws || typeof req.query.auth !== 'string') return
  const user = userOf(unseal(req.query.auth))
  if (user !== undefined && isOurs(user, domains)) open.seenAlone(user, req.ws)
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

/**
 * MeshCentral's own `decodeCookie`, which no longer opens what was sealed in the name of one of our users before the end of a session
 * of theirs: such a cookie opens a web socket for an hour without any session.
 */
export function endSealed(
  unseal: MeshServer['decodeCookie'],
  ended: Pick<Ended, 'latest'>,
  domains: ReadonlySet<string>,
): MeshServer['decodeCookie'] {
  return (sealed, key, minutes) => {
    const cookie = unseal(sealed, key, minutes)
    const user = userOf(cookie)
    if (cookie === null || user === undefined || !isOurs(user, domains)) return cookie
    const domainId = user.split('/')[1] ?? ''
    const endedAt = ended.latest([keyOfSealed(domainId, user)], domainId)
    // Its time is in whole seconds: at the end of that second a login that is new may already have been.
    return endedAt !== undefined && !(typeof cookie.time === 'number' && cookie.time > endedAt) ? null : cookie
  }
}

/** In whose name MeshCentral sealed it; links that a user gave to guests bear other members, and outlive the session. */
function userOf(cookie: MeshCookie | null): string | undefined {
  const name = cookie?.userid ?? cookie?.ruserid ?? (cookie?.a === 3 ? cookie.u : undefined)
  return typeof name === 'string' ? name : undefined
}

function isOurs(user: string, domains: ReadonlySet<string>): boolean {
  const [type, domainId = '', name = ''] = user.split('/')
  return type === 'user' && domains.has(domainId) && name.startsWith('~oidc:')
}
