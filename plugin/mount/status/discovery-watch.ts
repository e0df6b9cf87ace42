import type { DomainSettings } from '../../config/settings.ts'
import { causeCode, deepestMessage, type Log } from '../../log.ts'
import type { DiscoveryDeps } from '../../provider/issuer/discovery.ts'
import { unpublished } from '../../provider/issuer/published-lists.ts'

/** Lines about failed attempts that a domain writes within a second. */
const MOST_LINES = 10

/** Times are milliseconds since 1970. */
export interface DiscoveryStatus {
  /** Since when the IdP is discovered; null: it never was since the start of this process. */
  readonly discoveredSince: number | null
  /**
   * Since when discovery fails, and what mends that; null: the last attempt did not. What was found before is used
   * meanwhile.
   */
  readonly failure: DiscoveryFailure | null
}

export interface DiscoveryFailure {
  readonly since: number
  /** Such as `ECONNREFUSED`; null where there was an answer. */
  readonly causeCode: string | null
  readonly remedy: string
}

export interface DiscoveryWatch extends Pick<DiscoveryDeps, 'onFailure' | 'onDiscovered'> {
  status(): DiscoveryStatus
}

/**
 * Remembers how the discovery of one domain's IdP goes, and writes the plugin's own lines about it.
 *
 * @param now milliseconds since 1970
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
      // Each login of a stranger is an attempt. The next line says how many lines were left out.
      if (now() < second.beganAt || now() - second.beganAt >= 1_000) second = { beganAt: now(), written: 0 }
      if (!byHand && second.written >= MOST_LINES) {
        leftOut += 1
        return
      }
      second.written += 1
      leftOut = 0
      const message = `OIDC: Discovery failed.${code === undefined ? '' : ` ${code}`}`
      if (!byHand) log.error('discovery-failed', message, fields)
      // Logins go on with the endpoints that were given: what is lost is told once.
      else if (begins) log.warn('discovery-failed', `${message} The endpoints in \`issuer\` are used.`, fields)
    },
    onDiscovered(metadata) {
      discoveredSince ??= now()
      failure = null
      log.info('discovered', 'OIDC: Discovery succeeded.', { ...about, publishedIssuer: metadata.issuer })
      for (const { member, configured, list, published } of unpublished(metadata, settings)) {
        const message = `The IdP's ${list} lacks ${configured} (${member}): logins may fail. Choose what it has, or allow it there.`
        log.warn('not-published', message, { ...about, member, configured, list, published })
      }
    },
    status: () => ({ discoveredSince, failure }),
  }
}
