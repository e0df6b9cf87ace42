import type { ErrorRequestHandler, Request, RequestHandler } from 'express'
import { isSameRoute } from '../config/domains/route-names.ts'
import { cookieSignIn } from '../host/cookie-session.ts'
import type { RoutePaths } from '../routes/strategy.ts'
import { loginGate } from './pages/gate.ts'
import { carrySessionOver, loginPageVisit, rememberKey, rememberWay, rootPageVisit } from './pages/login-page.ts'
import type { MeshRequest, MeshServer, MeshWeb } from './server.ts'
import { ownSession } from './sessions/sessions.ts'

/** Paths of one domain's login. */
export type LoginPaths = Pick<RoutePaths, 'base' | 'authorize' | 'callbacks' | 'login' | 'logout' | 'all'>

export interface LoginVisitsOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  /** By domain id. */
  readonly paths: ReadonlyMap<string, LoginPaths>
  /** Whether a request came with a session that has ended. */
  readonly hasEnded: (req: MeshRequest) => boolean
}

/**
 * What comes before the plugin's routes and MeshCentral's login page: the rules of the server, and what a browser
 * carries along.
 */
export function loginVisits({ server, web, paths, hasEnded }: LoginVisitsOptions): RequestHandler {
  const own: ReadonlySet<string> = new Set(paths.keys())
  const pathsOf = (req: MeshRequest) => (req.xdomain ? paths.get(req.xdomain.id) : undefined)
  const gate = loginGate({
    server,
    web,
    isAnswer: (req) => pathsOf(req)?.callbacks.has(req.path) ?? false,
  })
  const loginPage = loginPageVisit(own, hasEnded)
  const rootPage = rootPageVisit(own, hasEnded)

  return (req, res, next) => {
    const request = req as MeshRequest
    const here = pathsOf(request)
    if (!here || request.ws) return next()
    const { path } = request
    if (path === here.authorize) gate(req, res, (error) => (error ? next(error) : rememberWay(req, res, next)))
    else if (here.callbacks.has(path)) gate(req, res, next)
    else if (isSameRoute(path, here.logout) && ownSession(request)) {
      gate(req, res, (error) => (error ? next(error) : rememberKey(req, res, next)))
    } else if (path === here.login && req.method === 'GET') loginPage(req, res, next)
    else if (path === here.base && req.method === 'GET') rootPage(req, res, next)
    else {
      // The first request of a browser tells it, whatever that was for: afterwards it brings no session any more.
      if (!here.all.has(path) && hasEnded(request)) carrySessionOver(res)
      next()
    }
  }
}

/** The same handler, which throws nothing: MeshCentral's server answers with a stack trace. */
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

/**
 * What fails in one of our routes is answered by us, in plain words, and what the sender did wrong with the status that
 * it has.
 */
export function answerPlainly(
  paths: ReadonlyMap<string, LoginPaths>,
  onFailure: (error: unknown) => void,
): ErrorRequestHandler {
  return (error, req, res, next) => {
    const { xdomain } = req as MeshRequest
    if (!xdomain || !paths.get(xdomain.id)?.all.has(req.path)) return next(error)
    const told: unknown = error instanceof Error && 'status' in error ? error.status : undefined
    const status = typeof told === 'number' && told >= 400 && told < 500 ? told : 500
    if (status === 500) onFailure(error)
    if (res.headersSent) res.destroy()
    else res.status(status).type('text/plain').send('This request was not understood. Please sign in again.')
  }
}

/**
 * Which requests came with a session of ours that had ended: whoever sent them is told why nobody is signed in any
 * more.
 */
interface EndedVisits {
  /** To be told before the guard takes the session out of a request. */
  note(req: MeshRequest): void
  /** To be asked behind the guard. */
  hasEnded(req: MeshRequest): boolean
}

export function createEndedVisits(): EndedVisits {
  const brought = new WeakSet<Request>()
  return {
    note(req) {
      // MeshCentral itself may have taken the user out of it already, but leaves our record there.
      if (!req.ws && req.xdomain && cookieSignIn(req)?.domainKey === req.xdomain.id) brought.add(req)
    },
    hasEnded: (req) => brought.has(req) && typeof req.session?.userid !== 'string',
  }
}
