import type { DomainReading, Problem, Warning } from '../../config/read.ts'
import type { DomainSettings, GroupRights } from '../../config/settings.ts'
import type { KeySet } from '../../provider/issuer/key-set.ts'
import type { SessionChecks } from '../../sessions/session-checks.ts'
import type { DiscoveryStatus, DiscoveryWatch } from './discovery-watch.ts'
import { type IdpAddresses, idpAddresses, type RoutesForIdp } from './idp-addresses.ts'
import type { LoginHistory, LoginWarning, Refusal } from './login-history.ts'

/**
 * How single sign-on of a domain is, for an administrator's page: no secret, and nothing of persons but the names of
 * their accounts. All times are milliseconds since 1970.
 */
export interface DomainStatus {
  /** Key under `domains` in the server's configuration; the default domain's is empty. */
  readonly domainKey: string
  /** False: the configuration has errors, and every login is refused. */
  readonly configured: boolean
  /** The errors of the configuration: where, what and how to mend it. They quote no value. */
  readonly problems: readonly Problem[]
  /** What works, or does nothing, but is probably not what was meant. */
  readonly warnings: readonly Warning[]
  /** As it is configured; null where that has errors. */
  readonly issuer: string | null
  /** Null where the configuration has errors. */
  readonly discovery: DiscoveryStatus | null
  /**
   * Age of the IdP's keys that were last of use, in milliseconds; null: none yet. They are asked for anew at each
   * login.
   */
  readonly keySetAgeMs: number | null
  /** When somebody last signed in since the start of this process; null: nobody has. */
  readonly lastLogin: number | null
  /** The last ten since the start of this process, the latest first. */
  readonly refusals: readonly Refusal[]
  /** The last ten warnings about logins since the start of this process, the latest first. */
  readonly loginWarnings: readonly LoginWarning[]
  /**
   * Sessions in use that the IdP can never be asked about: they have no refresh token, and cannot be introspected.
   * 10,000 at most.
   */
  readonly uncheckedSessions: number
  /**
   * `groups.rights`: what each group gives to its members; null where that is not configured, or the configuration has
   * errors.
   */
  readonly groupRights: readonly GroupRights[] | null
  /** What to enter at the IdP; null where the configuration has errors. */
  readonly addresses: IdpAddresses | null
}

/** A domain that works. */
export interface WorkingDomain {
  readonly settings: DomainSettings
  readonly routes: RoutesForIdp
  readonly discovery: Pick<DiscoveryWatch, 'status'>
  readonly keySet: Pick<KeySet, 'ageMs'>
  readonly checks: Pick<SessionChecks, 'unchecked'>
}

/** @param working null: the configuration has errors */
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
