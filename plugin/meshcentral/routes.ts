import type { ErrorRequestHandler, RequestHandler } from 'express'
import { isSameRoute } from '../config/domains/route-names.ts'
import { cookieSignIn } from '../host/cookie-session.ts'
import type { RoutePaths } from '../routes/strategy.ts'
import { loginGate } from './pages/gate.ts'
import {
  carrySessionEnded,
  loginPageVisit,
  rememberDestination,
  rememberKey,
  rootPageVisit,
} from './pages/login-page.ts'
import { type MeshRequest, type MeshServer, type MeshWeb, meshRequest } from './server.ts'
import { ownSession } from './sessions/sessions.ts'

/** The paths of one domain's login. */
export type LoginPaths = Pick<RoutePaths, 'base' | 'authorize' | 'callbacks' | 'login' | 'logout' | 'all'>

export interface LoginVisitsOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  /** The paths of each domain, by its id. */
  readonly paths: ReadonlyMap<string, LoginPaths>
  /** Whether a request came with a session that ended. */
  readonly hasEnded: (req: MeshRequest) => boolean
}

/**
 * Applies the rules for sign-in, and sets a login's cookies. Install it before the plugin's routes and MeshCentral's
 * login page.
 */
export function loginVisits({ server, web, paths, hasEnded }: LoginVisitsOptions): RequestHandler {
  const domains: ReadonlySet<string> = new Set(paths.keys())
  const pathsOf = (req: MeshRequest) => (req.xdomain ? paths.get(req.xdomain.id) : undefined)
  const gate = loginGate({
    server,
    web,
    isAnswer: (req) => pathsOf(req)?.callbacks.has(req.path) ?? false,
  })
  const loginPage = loginPageVisit(domains, hasEnded)
  const rootPage = rootPageVisit(domains, hasEnded)

  return (req, res, next) => {
    const request = meshRequest(req)
    const domainPaths = pathsOf(request)
    if (!domainPaths || request.ws) return next()
    const { path } = request
    if (path === domainPaths.authorize) {
      gate(req, res, (error) => (error ? next(error) : rememberDestination(req, res, next)))
    } else if (domainPaths.callbacks.has(path)) gate(req, res, next)
    else if (isSameRoute(path, domainPaths.logout) && ownSession(request)) {
      gate(req, res, (error) => (error ? next(error) : rememberKey(req, res, next)))
    } else if (path === domainPaths.login && req.method === 'GET') loginPage(req, res, next)
    else if (path === domainPaths.base && req.method === 'GET') rootPage(req, res, next)
    else {
      // Remember in a cookie that the session ended, so that the login page can tell the user. The browser's later
      // requests do not send the ended session any more.
      if (!domainPaths.all.has(path) && hasEnded(request)) carrySessionEnded(res)
      next()
    }
  }
}

/** Wraps a handler so that it never throws. MeshCentral would answer an error with a stack trace. */
export function caught(handler: RequestHandler, onFailure: (error: unknown) => void): RequestHandler {
  return (req, res, next) => {
    try {
      handler(req, res, next)
    } catch (error) {
      onFailure(error)
      if (!res.headersSent) res.status(500).type('text/plain').send('Something went wrong. Please try again.')
    }
  }
}

/** Answers errors in the plugin's own routes with a plain text. If the sender caused the error, its status is kept. */
export function answerPlainly(
  paths: ReadonlyMap<string, LoginPaths>,
  onFailure: (error: unknown) => void,
): ErrorRequestHandler {
  return (error, req, res, next) => {
    const { xdomain } = meshRequest(req)
    if (!xdomain || !paths.get(xdomain.id)?.all.has(req.path)) return next(error)
    const errorStatus: unknown = error instanceof Error && 'status' in error ? error.status : undefined
    const status = typeof errorStatus === 'number' && errorStatus >= 400 && errorStatus < 500 ? errorStatus : 500
    if (status === 500) onFailure(error)
    if (res.headersSent) res.destroy()
    else res.status(status).type('text/plain').send('This request was not understood. Please sign in again.')
  }
}

/** Remembers requests that arrived with an ended session of this plugin, so that the login page can tell the user. */
export class EndedVisits {
  readonly #requests = new WeakSet<MeshRequest>()

  /** Remembers a request with a session of the plugin. Call this before `sessionGuard` removes an ended session. */
  note(req: MeshRequest): void {
    // Check the plugin's record of the login in the session, because MeshCentral may already have removed the user from
    // the session.
    if (!req.ws && req.xdomain && cookieSignIn(req)?.domainKey === req.xdomain.id) this.#requests.add(req)
  }

  /** Whether a request arrived with an ended session. Call this after `sessionGuard` handled the request. */
  hasEnded(req: MeshRequest): boolean {
    return this.#requests.has(req) && typeof req.session?.userid !== 'string'
  }
}
