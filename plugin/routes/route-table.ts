import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { plainRoute } from '../config/domains/route-names.ts'
import { jwks } from './jwks.ts'
import { authorize } from './login/authorize.ts'
import { callback, isForCallback, refuseAnswer } from './login/callback.ts'
import { backchannelLogout, refuseLogout } from './logout/backchannel-logout.ts'
import { frontchannelLogout } from './logout/frontchannel-logout.ts'
import { logout } from './logout/logout.ts'
import type { RouteDeps, RoutePaths, Strategy } from './strategy.ts'

/**
 * Limit of bytes in a posted answer. It is high enough for an ID token with many groups, and low enough that a stranger
 * cannot fill the memory.
 */
const MOST_ANSWER_BYTES = 256 * 1024
/** Limit of bytes in a form with a logout token. A token has about 1 KB, or 2 KB if it is encrypted. */
const MOST_LOGOUT_BYTES = 16 * 1024

/**
 * The members of an Express application that this package uses. The full types of Express 4 and Express 5 are
 * incompatible.
 */
export interface HostApp {
  use(handler: RequestHandler): unknown
}

/** The type of `express.urlencoded` in Express 4 and 5. */
export type FormParser = (options: {
  readonly extended: false
  readonly limit: number
  readonly parameterLimit: number
  readonly inflate?: boolean
}) => RequestHandler

type RouteName = Exclude<keyof RoutePaths, 'base' | 'login' | 'all'>

/** A route of this package. */
interface Route {
  readonly answer: (strategy: Strategy, deps: RouteDeps, req: Request, res: Response) => Promise<void>
  readonly methods: readonly string[]
  /** Parses a posted body. Undefined if the route reads no body. */
  readonly parseForm?: RequestHandler
  /** Responds to a request with a body that cannot be parsed. */
  readonly onUnreadable?: (strategy: Strategy, deps: RouteDeps, req: Request, res: Response, error: unknown) => unknown
}

interface RouteMatch {
  readonly strategy: Strategy
  readonly name: RouteName
}

/**
 * Registers the routes of all domains on the host's application. One handler finds the route by maps. Express's
 * patterns delayed each request of a host with 1,000 domains by 3 to 6 ms.
 */
export function mountRoutes(
  app: HostApp,
  strategies: readonly Strategy[],
  deps: RouteDeps,
  domainOf: (req: Request) => string | undefined,
  urlencoded: FormParser,
): void {
  if (strategies.length === 0) return
  const routes = routesWith(urlencoded)
  const findRoute = routeFinder(strategies, domainOf)
  app.use((req, res, next) => {
    const match = findRoute(req)
    if (!match) return next()
    const { strategy, name } = match
    const route = routes[name]
    // Refuse HEAD logouts. Otherwise Express would run the host's own logout, which does not sign out at the IdP.
    const isRefused = name === 'logout' ? req.method === 'HEAD' : name === 'frontchannelLogout' && req.method !== 'GET'
    if (isRefused) {
      res.setHeader('Allow', route.methods.join(', '))
      res.status(405).end()
      return
    }
    // Ignore requests with other methods. For example, a link preview or a scanner that sends HEAD must not use up a
    // login.
    if (!route.methods.includes(req.method)) return next()
    const begin = (error?: unknown) => {
      const isAnotherPage = error === undefined && name === 'callbacks' && !isForCallback(strategy, deps, req)
      if (isAnotherPage) return next()
      serve(route, strategy, deps, req, res, next, error)
    }
    if (req.method === 'POST' && route.parseForm) route.parseForm(req, res, begin)
    else begin()
  })
}

/**
 * Handles one request.
 *
 * @param error the parser's error, if it could not read the body
 */
function serve(
  { answer, onUnreadable }: Route,
  strategy: Strategy,
  deps: RouteDeps,
  req: Request,
  res: Response,
  next: NextFunction,
  error: unknown,
): void {
  res.setHeader('Cache-Control', 'no-store')
  // The address contains the code. Browsers must not send it as the referrer of the next request.
  res.setHeader('Referrer-Policy', 'no-referrer')
  const answered =
    error === undefined ? answer(strategy, deps, req, res) : onUnreadable?.(strategy, deps, req, res, error)
  Promise.resolve(answered).catch(next)
}

function routesWith(urlencoded: FormParser): Readonly<Record<RouteName, Route>> {
  const answerForm = urlencoded({ extended: false, limit: MOST_ANSWER_BYTES, parameterLimit: 50 })
  const logoutForm = urlencoded({ extended: false, limit: MOST_LOGOUT_BYTES, parameterLimit: 50, inflate: false })
  const getOrPost = ['GET', 'POST']
  return {
    authorize: { answer: authorize, methods: getOrPost, parseForm: answerForm, onUnreadable: refuseAnswer },
    callbacks: { answer: callback, methods: getOrPost, parseForm: answerForm, onUnreadable: refuseAnswer },
    jwks: { answer: jwks, methods: ['GET'] },
    logout: { answer: logout, methods: getOrPost },
    frontchannelLogout: { answer: frontchannelLogout, methods: ['GET'] },
    backchannelLogout: {
      answer: backchannelLogout,
      methods: ['POST'],
      parseForm: logoutForm,
      onUnreadable: refuseLogout,
    },
  }
}

/** Returns a function that finds the route of a request by its path and domain. */
function routeFinder(
  strategies: readonly Strategy[],
  domainOf: (req: Request) => string | undefined,
): (req: Request) => RouteMatch | undefined {
  const namesByPaths = new Map<RoutePaths, ReadonlyMap<string, RouteName>>()
  for (const { paths } of strategies) if (!namesByPaths.has(paths)) namesByPaths.set(paths, routeNames(paths))
  const byDomain = new Map(strategies.map((strategy) => [strategy.domainKey, strategy]))
  const allPaths = new Set([...namesByPaths.values()].flatMap((names) => [...names.keys()]))
  const plainLogouts = new Set([...namesByPaths.keys()].map(({ logout }) => plainRoute(logout)))
  return (req) => {
    const plainPath = plainRoute(req.path)
    if (!allPaths.has(req.path) && !plainLogouts.has(plainPath)) return undefined
    const domainKey = domainOf(req)
    const strategy = domainKey === undefined ? undefined : byDomain.get(domainKey)
    if (!strategy) return undefined
    // Handle other spellings of the logout path too. Otherwise the host's own logout could match them, which does not
    // revoke the session or sign out at the IdP.
    const isLogout = plainPath === plainRoute(strategy.paths.logout)
    const name = namesByPaths.get(strategy.paths)?.get(req.path) ?? (isLogout ? 'logout' : undefined)
    return name && { strategy, name }
  }
}

/** Maps each path of a domain to the name of its route. */
function routeNames(paths: RoutePaths): ReadonlyMap<string, RouteName> {
  const { authorize, callbacks, jwks, logout, backchannelLogout, frontchannelLogout } = paths
  const names = new Map<string, RouteName>()
  // Set the callback paths first. A configured redirect address may have the path of another route. That route must
  // then replace the callback.
  for (const path of callbacks) names.set(path, 'callbacks')
  names.set(backchannelLogout, 'backchannelLogout')
  names.set(frontchannelLogout, 'frontchannelLogout')
  names.set(logout, 'logout')
  names.set(jwks, 'jwks')
  names.set(authorize, 'authorize')
  return names
}
