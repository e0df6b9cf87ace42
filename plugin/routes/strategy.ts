import type { Clock } from '../clock.ts'
import { ROUTE_NAMES } from '../config/domains/route-names.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { Host } from '../host/port.ts'
import type { Landings } from '../login/transaction/landings.ts'
import type { Transactions } from '../login/transaction/transaction.ts'
import type { Preset } from '../presets/preset.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { EndSession } from '../provider/logout/end-session.ts'
import type { LogoutTokens } from '../provider/logout/logout-tokens.ts'
import type { SessionChecks } from '../sessions/session-checks.ts'
import type { UserInfoWarning } from './login/userinfo-warning.ts'

/** One domain's login strategy, as its routes use it. */
export interface Strategy {
  readonly domainKey: string
  readonly paths: RoutePaths
  /** Null: the configuration has errors, and every login is refused. */
  readonly working: WorkingStrategy | null
}

export interface WorkingStrategy {
  readonly settings: DomainSettings
  readonly client: ProviderClient
  readonly preset: Preset
  readonly endSession: EndSession
  readonly logoutTokens: LogoutTokens
  readonly checks: SessionChecks
}

/** What every route is given. */
export interface RouteDeps {
  readonly host: Host
  readonly transactions: Transactions
  readonly landings: Landings
  /** Keys of the domains whose IdP has sent groups of a user since the start of this process. */
  readonly domainsWithGroups: Set<string>
  readonly warnOfUserInfo: UserInfoWarning
  readonly clock: Clock
}

export interface RoutePaths {
  /** Path below which the domain is served, with slashes at both ends. */
  readonly base: string
  readonly authorize: string
  /** The default one, those of the presets, and that of the configured redirect address. */
  readonly callbacks: ReadonlySet<string>
  readonly logout: string
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  readonly jwks: string
  readonly login: string
  /** All of these: nobody wants to be sent there after a login. */
  readonly own: ReadonlySet<string>
}

/**
 * Paths of a domain's routes. Source: contracts, Plugin; Endpoints table of the specification.
 *
 * @param presets their names
 */
export function routePaths(base: string, redirectUri: string | undefined, presets: readonly string[]): RoutePaths {
  const at = (name: keyof typeof ROUTE_NAMES) => base + ROUTE_NAMES[name]
  const [authorize, logout, login] = [at('authorize'), at('logout'), at('login')]
  const [backchannelLogout, frontchannelLogout, jwks] = [at('backchannelLogout'), at('frontchannelLogout'), at('jwks')]
  const callbacks = new Set([
    at('callback'),
    ...presets.map((name) => `${base}auth-oidc-${name}-callback`),
    ...(redirectUri === undefined ? [] : [new URL(redirectUri).pathname]),
  ])
  const own = new Set([authorize, ...callbacks, logout, backchannelLogout, frontchannelLogout, jwks, login])
  return { base, authorize, callbacks, logout, backchannelLogout, frontchannelLogout, jwks, login, own }
}

/**
 * The same for all domains of a server. Those that have the same paths, each under a host name of its own, share them.
 */
export function sharedRoutePaths(presets: readonly string[]) {
  const known = new Map<string, RoutePaths>()
  return (base: string, redirectUri: string | undefined): RoutePaths => {
    // No path of a URL has a blank in it.
    const place = `${base} ${redirectUri === undefined ? '' : new URL(redirectUri).pathname}`
    const paths = known.get(place) ?? routePaths(base, redirectUri, presets)
    known.set(place, paths)
    return paths
  }
}
