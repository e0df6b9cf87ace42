import type { DomainSettings } from '../config/settings.ts'
import type { Host } from '../host/port.ts'
import type { Transactions } from '../login/transaction.ts'
import type { Preset } from '../presets/preset.ts'
import type { ProviderClient } from '../provider/client.ts'

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
}

/** What every route is given. */
export interface RouteDeps {
  readonly host: Host
  readonly transactions: Transactions
}

export interface RoutePaths {
  /** Path below which the domain is served, with slashes at both ends. */
  readonly base: string
  readonly authorize: string
  /** The default one, those of the presets, and that of the configured redirect address. */
  readonly callbacks: ReadonlySet<string>
  readonly logout: string
  readonly login: string
  /** All of these: nobody wants to be sent there after a login. */
  readonly own: ReadonlySet<string>
}

/** Paths of a domain's routes. Source: contracts, Plugin; Endpoints table of the specification. */
export function routePaths(base: string, redirectUri: string | undefined): RoutePaths {
  const [authorize, logout, login] = [`${base}auth-oidc`, `${base}logout`, `${base}login`]
  const callbacks = new Set([
    `${base}auth-oidc-callback`,
    `${base}auth-oidc-google-callback`,
    `${base}auth-oidc-azure-callback`,
    ...(redirectUri === undefined ? [] : [new URL(redirectUri).pathname]),
  ])
  return { base, authorize, callbacks, logout, login, own: new Set([authorize, ...callbacks, logout, login]) }
}
