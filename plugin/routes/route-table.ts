import type { Request, RequestHandler, Response } from 'express'
import { plainRoute } from '../config/domains/route-names.ts'
import { jwks } from './jwks.ts'
import { authorize } from './login/authorize.ts'
import { callback, isForCallback, refuseAnswer } from './login/callback.ts'
import { backchannelLogout, refuseLogout } from './logout/backchannel-logout.ts'
import { frontchannelLogout } from './logout/frontchannel-logout.ts'
import { logout } from './logout/logout.ts'
import type { RouteDeps, RoutePaths, Strategy } from './strategy.ts'

/** Of a posted answer: an ID token with many groups fits, an attempt to fill the memory does not. */
const MOST_FORM_BYTES = 256 * 1024
/** Of a logout token with what may come beside it; one has about 1 KB, encrypted about 2. */
const MOST_LOGOUT_BYTES = 16 * 1024

/**
 * An Express application of version 4 or 5, as far as it is needed: in the types of the whole, neither version fits the
 * other.
 */
export interface HostApp {
  use(handler: RequestHandler): unknown
}

/** `express.urlencoded`, of version 4 or 5. */
export type FormParser = (options: {
  readonly extended: false
  readonly limit: number
  readonly parameterLimit: number
  readonly inflate?: boolean
}) => RequestHandler

type Route = (strategy: Strategy, deps: RouteDeps, req: Request, res: Response) => Promise<void>
type Kind = Exclude<keyof RoutePaths, 'base' | 'login' | 'own'>

/** What there is at a path of ours. */
interface Entry {
  readonly route: Route
  readonly methods: readonly string[]
  /** Reads a posted body; absent: nothing in it is of use. */
  readonly form?: RequestHandler
  /** Answers a body that cannot be read. */
  readonly onUnreadable?: (strategy: Strategy, deps: RouteDeps, req: Request, res: Response, error: unknown) => unknown
}

/**
 * Registers the routes of all domains; a request is handed to the strategy of its own domain, or passed on when that
 * has none. One handler with one look-up: a pattern for each path of 1,000 domains took every request of the host 3 to
 * 6 ms.
 */
export function mountRoutes(
  app: HostApp,
  strategies: readonly Strategy[],
  deps: RouteDeps,
  domainOf: (req: Request) => string | undefined,
  urlencoded: FormParser,
): void {
  if (strategies.length === 0) return
  const form = urlencoded({ extended: false, limit: MOST_FORM_BYTES, parameterLimit: 50 })
  const logoutForm = urlencoded({ extended: false, limit: MOST_LOGOUT_BYTES, parameterLimit: 50, inflate: false })
  const both = ['GET', 'POST']
  const entries: Readonly<Record<Kind, Entry>> = {
    authorize: { route: authorize, methods: both, form, onUnreadable: refuseAnswer },
    callbacks: { route: callback, methods: both, form, onUnreadable: refuseAnswer },
    jwks: { route: jwks, methods: ['GET'] },
    logout: { route: logout, methods: both },
    frontchannelLogout: { route: frontchannelLogout, methods: ['GET'] },
    backchannelLogout: {
      route: backchannelLogout,
      methods: ['POST'],
      form: logoutForm,
      onUnreadable: refuseLogout,
    },
  }
  const byPaths = new Map<RoutePaths, ReadonlyMap<string, Kind>>()
  for (const { paths } of strategies) if (!byPaths.has(paths)) byPaths.set(paths, kindsOf(paths))
  const byDomain = new Map(strategies.map((strategy) => [strategy.domainKey, strategy]))
  const known = new Set([...byPaths.values()].flatMap((kinds) => [...kinds.keys()]))
  const logouts = new Set([...byPaths.keys()].map(({ logout }) => plainRoute(logout)))

  app.use((req, res, next) => {
    const plain = plainRoute(req.path)
    if (!known.has(req.path) && !logouts.has(plain)) return next()
    const domainKey = domainOf(req)
    const strategy = domainKey === undefined ? undefined : byDomain.get(domainKey)
    // The host may have a logout of its own in another spelling, which would end less than ours.
    const kind =
      strategy &&
      (byPaths.get(strategy.paths)?.get(req.path) ??
        (plain === plainRoute(strategy.paths.logout) ? 'logout' : undefined))
    if (!strategy || kind === undefined) return next()
    const { route, methods, form: parse, onUnreadable } = entries[kind]
    // Express takes HEAD to the host's own logout for GET, which would end less than ours.
    const isRefused = kind === 'logout' ? req.method === 'HEAD' : kind === 'frontchannelLogout' && req.method !== 'GET'
    if (isRefused) {
      res.setHeader('Allow', methods.join(', '))
      res.status(405).end()
      return
    }
    // A preview or a scanner that asks for the head alone must not use up a login.
    if (!methods.includes(req.method)) return next()
    const answer = (error?: unknown) => {
      const told =
        error === undefined ? route(strategy, deps, req, res) : onUnreadable?.(strategy, deps, req, res, error)
      Promise.resolve(told).catch(next)
    }
    const begin = (error?: unknown) => {
      if (error === undefined && kind === 'callbacks' && !isForCallback(strategy, deps, req)) return next()
      res.setHeader('Cache-Control', 'no-store')
      // The address holds the code; it must not travel on with the next request.
      res.setHeader('Referrer-Policy', 'no-referrer')
      answer(error)
    }
    if (req.method === 'POST' && parse) parse(req, res, begin)
    else begin()
  })
}

/** What is at which path of a domain. */
function kindsOf(paths: RoutePaths): ReadonlyMap<string, Kind> {
  const { authorize, callbacks, jwks, logout, backchannelLogout, frontchannelLogout } = paths
  // In the order in which the first one counts: a redirect address may be any path.
  return new Map<string, Kind>([
    ...[...callbacks].map((path) => [path, 'callbacks'] as const),
    [backchannelLogout, 'backchannelLogout'],
    [frontchannelLogout, 'frontchannelLogout'],
    [logout, 'logout'],
    [jwks, 'jwks'],
    [authorize, 'authorize'],
  ])
}
