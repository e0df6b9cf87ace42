import type { Application, ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import { isSameRoute } from '../same-route.ts'
import { authorize } from './authorize.ts'
import { backchannelLogout, refuseLogout } from './backchannel-logout.ts'
import { callback, isForCallback, refuseAnswer } from './callback.ts'
import { jwks } from './jwks.ts'
import { logout } from './logout.ts'
import type { RouteDeps, RoutePaths, Strategy } from './strategy.ts'

/** Of a posted answer: an ID token with many groups fits, an attempt to fill the memory does not. */
const MOST_FORM_BYTES = 256 * 1024
/** Of a logout token with what may come beside it; one has about 1 KB, encrypted about 2. */
const MOST_LOGOUT_BYTES = 16 * 1024

/** `express.urlencoded`, of version 4 or 5. */
export type FormParser = (options: {
  readonly extended: false
  readonly limit: number
  readonly parameterLimit: number
  readonly inflate?: boolean
}) => RequestHandler

type Route = (strategy: Strategy, deps: RouteDeps, req: Request, res: Response) => Promise<void>

/** Registers the routes of all domains; a request is handed to the strategy of its own domain, or passed on when that has none. */
export function mountRoutes(
  app: Application,
  strategies: readonly Strategy[],
  deps: RouteDeps,
  domainOf: (req: Request) => string | undefined,
  urlencoded: FormParser,
): void {
  // Express 4 takes an empty list of paths for all of them.
  if (strategies.length === 0) return
  const byDomain = new Map(strategies.map((strategy) => [strategy.domainKey, strategy]))

  type IsOwn = (paths: RoutePaths, path: string) => boolean
  const strategyOf = (req: Request, isOwn: IsOwn): Strategy | undefined => {
    const domainKey = domainOf(req)
    const strategy = domainKey === undefined ? undefined : byDomain.get(domainKey)
    return strategy && isOwn(strategy.paths, req.path) ? strategy : undefined
  }
  const handle =
    (route: Route, isOwn: IsOwn, isFor: typeof isForCallback = () => true): RequestHandler =>
    (req, res, next) => {
      const strategy = strategyOf(req, isOwn)
      // A preview or a scanner that asks for the head alone must not use up a login.
      if (!strategy || req.method === 'HEAD' || !isFor(strategy, deps, req)) return next()
      res.setHeader('Cache-Control', 'no-store')
      // The address holds the code; it must not travel on with the next request.
      res.setHeader('Referrer-Policy', 'no-referrer')
      route(strategy, deps, req, res).catch(next)
    }

  // Two domains share a path when each is at the root of its own host name.
  const distinct = (pathsOf: (paths: RoutePaths) => Iterable<string>, pattern = literal) =>
    [...new Set(strategies.flatMap((strategy) => [...pathsOf(strategy.paths)]))].map(pattern)
  const callbacks = distinct((paths) => paths.callbacks)
  // The host may have a logout of its own there, which would end less than ours.
  const logouts = distinct((paths) => [paths.logout], asExpressTakesIt)
  const form = urlencoded({ extended: false, limit: MOST_FORM_BYTES, parameterLimit: 50 })
  const isCallback: IsOwn = (paths, path) => paths.callbacks.has(path)
  const isAuthorize: IsOwn = (paths, path) => paths.authorize === path
  const onCallback = handle(callback, isCallback, isForCallback)
  const onAuthorize = handle(authorize, isAuthorize)
  const onLogout = handle(logout, (paths, path) => isSameRoute(path, paths.logout))
  const authorizations = distinct((paths) => [paths.authorize])
  const onUnreadableAnswer: ErrorRequestHandler = (error, req, res, next) => {
    const strategy = strategyOf(req, (paths, path) => isCallback(paths, path) || isAuthorize(paths, path))
    if (strategy) refuseAnswer(strategy, deps, req, res, error).catch(next)
    else next(error)
  }
  app.get(authorizations, onAuthorize)
  app.post(authorizations, form, onAuthorize, onUnreadableAnswer)
  app.get(
    distinct((paths) => [paths.jwks]),
    handle(jwks, (paths, path) => paths.jwks === path),
  )
  app.get(callbacks, onCallback)
  app.post(callbacks, form, onCallback, onUnreadableAnswer)
  app.get(logouts, onLogout)
  app.post(logouts, onLogout)

  const isBackchannel: IsOwn = (paths, path) => paths.backchannelLogout === path
  const onUnreadable: ErrorRequestHandler = (error, req, res, next) => {
    const strategy = strategyOf(req, isBackchannel)
    if (strategy) refuseLogout(strategy, deps, req, res, error)
    else next(error)
  }
  app.post(
    distinct((paths) => [paths.backchannelLogout]),
    urlencoded({ extended: false, limit: MOST_LOGOUT_BYTES, parameterLimit: 50, inflate: false }),
    handle(backchannelLogout, isBackchannel),
    onUnreadable,
  )
}

/** A path as a pattern that matches it alone, in Express 4 and 5: a redirect address may have any character in it. */
function literal(path: string): RegExp {
  return new RegExp(`^${escaped(path)}$`)
}

/** The same in any letter case, and with a slash at the end: what a host's own route for that path matches. */
function asExpressTakesIt(path: string): RegExp {
  return new RegExp(`^${escaped(path)}/?$`, 'i')
}

function escaped(path: string): string {
  return path.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
