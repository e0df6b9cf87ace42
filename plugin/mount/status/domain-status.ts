import type { DomainReading, Problem, Warning } from '../../config/read.ts'
import type { DomainSettings, GroupRights } from '../../config/settings.ts'
import type { KeySet } from '../../provider/issuer/key-set.ts'
import type { SessionChecks } from '../../sessions/session-checks.ts'
import type { DiscoveryStatus, DiscoveryWatch } from './discovery-watch.ts'
import { type IdpAddresses, idpAddresses, type RoutesForIdp } from './idp-addresses.ts'
import type { LoginHistory, LoginWarning, Refusal } from './login-history.ts'

/**
 * The state of a domain's single sign-on. It contains no secret, and no personal data except account names. Times are
 * milliseconds since 1970.
 */
export interface DomainStatus {
  /** The domain's key under `domains` in the configuration. The key of the default domain is empty. */
  readonly domainKey: string
  /** False if the domain's configuration has errors, so that the domain refuses every login. */
  readonly configured: boolean
  /** Errors of the configuration, with path and remedy. The texts quote no configured values. */
  readonly problems: readonly Problem[]
  /** Settings that are valid but probably not intended. */
  readonly warnings: readonly Warning[]
  /** The configured issuer. Null if the configuration has errors. */
  readonly issuer: string | null
  /** The state of discovery. Null if the configuration has errors. */
  readonly discovery: DiscoveryStatus | null
  /**
   * Milliseconds since the last usable keys of the IdP were requested, or null if there are none. Each login requests
   * the keys again.
   */
  readonly keySetAgeMs: number | null
  /** The time of the last login since this process started. Null if there was none. */
  readonly lastLogin: number | null
  /** The last ten refusals since this process started, the latest first. */
  readonly refusals: readonly Refusal[]
  /** The last ten warnings about logins since this process started, the latest first. */
  readonly loginWarnings: readonly LoginWarning[]
  /**
   * Number of sessions in use that can never be checked, because they have no refresh token and cannot be introspected.
   * Counts up to 10,000.
   */
  readonly uncheckedSessions: number
  /**
   * The rights that each group gives its members (`groups.rights`). Null if they are not configured, or if the
   * configuration has errors.
   */
  readonly groupRights: readonly GroupRights[] | null
  /** The addresses to enter at the IdP. Null if the configuration has errors. */
  readonly addresses: IdpAddresses | null
}

/** The parts that report a domain's status. */
export interface WorkingDomain {
  readonly settings: DomainSettings
  readonly routes: RoutesForIdp
  readonly discovery: Pick<DiscoveryWatch, 'status'>
  readonly keySet: Pick<KeySet, 'ageMs'>
  readonly checks: Pick<SessionChecks, 'unchecked'>
}

/**
 * Returns the state of a domain.
 *
 * @param working the parts that report the domain's status. Null if the domain's configuration has errors
 */
export function domainStatus(
  { key: domainKey, problems, warnings }: Pick<DomainReading, 'key' | 'problems' | 'warnings'>,
  working: WorkingDomain | null,
  history: LoginHistory,
): DomainStatus {
  return {
    domainKey,
    configured: working !== null,
    problems,
    warnings,
    issuer: working?.settings.issuer.issuer ?? null,
    discovery: working?.discovery.status() ?? null,
    keySetAgeMs: working?.keySet.ageMs() ?? null,
    ...history.of(domainKey),
    uncheckedSessions: working?.checks.unchecked() ?? 0,
    groupRights: working?.settings.groups?.rights ?? null,
    addresses: working ? idpAddresses(working.settings, working.routes) : null,
  }
}
