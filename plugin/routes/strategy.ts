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

/** The login strategy of one domain, with everything that its routes need. */
export interface Strategy {
  readonly domainKey: string
  readonly paths: RoutePaths
  /**
   * The settings, client and other objects that a login needs. Null if the domain's configuration has errors, so that
   * the domain refuses every login.
   */
  readonly working: WorkingStrategy | null
}

/** The strategy of a domain without configuration errors. */
export interface WorkingStrategy {
  readonly settings: DomainSettings
  readonly client: ProviderClient
  readonly preset: Preset
  readonly endSession: EndSession
  readonly logoutTokens: LogoutTokens
  readonly checks: SessionChecks
}

/** The services and state that the routes of all domains share. */
export interface RouteDeps {
  readonly host: Host
  readonly transactions: Transactions
  readonly landings: Landings
  /** Keys of the domains for which the IdP has sent a user's groups since this process started. */
  readonly domainsWithGroups: Set<string>
  readonly warnOfUserInfo: UserInfoWarning
  readonly clock: Clock
}

/** The paths of one domain's routes. */
export interface RoutePaths {
  /** The path below which the domain is served, with slashes at both ends. */
  readonly base: string
  readonly authorize: string
  /** The paths of the default callback, of the presets' callbacks, and of the configured redirect address. */
  readonly callbacks: ReadonlySet<string>
  readonly logout: string
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  readonly jwks: string
  readonly login: string
  /** The paths of all routes, without `base`. No login returns the browser to one of them. */
  readonly all: ReadonlySet<string>
}

/**
 * Returns the paths of a domain's routes. Source: the table of endpoints in the specification.
 *
 * @param presets names of the presets
 */
export function routePaths(base: string, redirectUri: string | undefined, presets: readonly string[]): RoutePaths {
  const pathOf = (name: keyof typeof ROUTE_NAMES) => base + ROUTE_NAMES[name]
  const paths = {
    authorize: pathOf('authorize'),
    logout: pathOf('logout'),
    backchannelLogout: pathOf('backchannelLogout'),
    frontchannelLogout: pathOf('frontchannelLogout'),
    jwks: pathOf('jwks'),
    login: pathOf('login'),
  }
  const callbacks = new Set([
    pathOf('callback'),
    ...presets.map((name) => `${base}auth-oidc-${name}-callback`),
    ...(redirectUri === undefined ? [] : [new URL(redirectUri).pathname]),
  ])
  return { base, ...paths, callbacks, all: new Set([...callbacks, ...Object.values(paths)]) }
}

/**
 * Returns a version of {@link routePaths} for the domains of one server. Domains with the same paths, each under its
 * own host name, share one object.
 */
export function sharedRoutePaths(presets: readonly string[]) {
  const shared = new Map<string, RoutePaths>()
  return (base: string, redirectUri: string | undefined): RoutePaths => {
    // Join `base` and the path of the redirect address by a space. The path of a URL contains no space, so different
    // pairs always give different keys.
    const key = `${base} ${redirectUri === undefined ? '' : new URL(redirectUri).pathname}`
    const paths = shared.get(key) ?? routePaths(base, redirectUri, presets)
    shared.set(key, paths)
    return paths
  }
}
