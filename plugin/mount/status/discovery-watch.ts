import type { DomainSettings } from '../../config/settings.ts'
import { causeCode, deepestMessage, type Log } from '../../log.ts'
import type { DiscoveryDeps } from '../../provider/issuer/discovery.ts'
import { unpublished } from '../../provider/issuer/published-lists.ts'

/** Limit of log lines about failed discoveries that a domain writes in one second. */
const MOST_LINES = 10

/** The state of discovery. All times are milliseconds since 1970. */
export interface DiscoveryStatus {
  /** When discovery of the IdP first succeeded. Null if it has not succeeded since this process started. */
  readonly discoveredSince: number | null
  /**
   * Describes the current failure of discovery. Metadata from an earlier attempt stays in use. Null if the last attempt
   * succeeded.
   */
  readonly failure: DiscoveryFailure | null
}

export interface DiscoveryFailure {
  /** When the current outage began: the time of its first failed attempt. */
  readonly since: number
  /** The error code, such as `ECONNREFUSED`. Null if the IdP answered. */
  readonly causeCode: string | null
  readonly remedy: string
}

export interface DiscoveryWatch extends Pick<DiscoveryDeps, 'onFailure' | 'onDiscovered'> {
  status(): DiscoveryStatus
}

/**
 * Tracks and logs the discovery of one domain's IdP.
 *
 * @param now returns the current time in milliseconds since 1970
 */
export function watchDiscovery(settings: DomainSettings, log: Log, now: () => number): DiscoveryWatch {
  const about = { domain: settings.key, issuer: settings.issuer.issuer }
  let discoveredSince: number | null = null
  let failure: DiscoveryFailure | null = null
  let second = { beganAt: Number.NEGATIVE_INFINITY, written: 0 }
  let leftOut = 0
  return {
    onFailure(error, { begins, byHand }) {
      const code = causeCode(error.cause)
      failure = { since: failure?.since ?? now(), causeCode: code ?? null, remedy: error.message }
      const fields = {
        ...about,
        ...error.details,
        ...(code === undefined ? {} : { causeCode: code }),
        reason: deepestMessage(error),
        remedy: error.message,
        ...(leftOut > 0 ? { leftOut } : {}),
      }
      // Limit the log lines, because a stranger can start a login, and so a discovery, at any time. The next line
      // contains the number of omitted lines.
      if (now() < second.beganAt || now() - second.beganAt >= 1_000) second = { beganAt: now(), written: 0 }
      if (!byHand && second.written >= MOST_LINES) {
        leftOut += 1
        return
      }
      second.written += 1
      leftOut = 0
      const message = `OIDC: Discovery failed.${code === undefined ? '' : ` ${code}`}`
      if (!byHand) log.error('discovery-failed', message, fields)
      // If all endpoints are configured, logins continue during an outage. So only the first failure of an outage is
      // logged.
      else if (begins) log.warn('discovery-failed', `${message} Logins use the endpoints in \`issuer\`.`, fields)
    },
    onDiscovered(metadata) {
      discoveredSince ??= now()
      failure = null
      log.info('discovered', 'OIDC: Discovery succeeded.', { ...about, publishedIssuer: metadata.issuer })
      for (const { member, configured, list, published } of unpublished(metadata, settings)) {
        const other = member === 'PKCE' ? '' : `, or use only values of that list in \`${member}\``
        const message = `The IdP's ${list} lacks ${configured} (${member}), so logins may fail. Allow ${configured} at the IdP${other}.`
        log.warn('not-published', message, { ...about, member, configured, list, published })
      }
    },
    status: () => ({ discoveredSince, failure }),
  }
}
