import type { DomainSettings } from '../config/settings.ts'
import { causeCode, deepestMessage, type Log } from '../log.ts'
import type { DiscoveryDeps } from '../provider/issuer/discovery.ts'
import { unpublished } from '../provider/issuer/published-lists.ts'

/** The plugin's own lines about the discovery of one domain's IdP. */
export function discoveryLog(settings: DomainSettings, log: Log): Pick<DiscoveryDeps, 'onFailure' | 'onDiscovered'> {
  const about = { domain: settings.key, issuer: settings.issuer.issuer }
  return {
    onFailure: (error, { begins, byHand }) => {
      const code = causeCode(error.cause)
      const fields = {
        ...about,
        ...error.details,
        ...(code === undefined ? {} : { causeCode: code }),
        reason: deepestMessage(error),
        remedy: error.message,
      }
      const message = `OIDC: Discovery failed.${code === undefined ? '' : ` ${code}`}`
      if (!byHand) log.error('discovery-failed', message, fields)
      // Logins go on with the endpoints that were given: what is lost is told once.
      else if (begins) log.warn('discovery-failed', `${message} The endpoints in \`issuer\` are used.`, fields)
    },
    onDiscovered: (metadata) => {
      log.info('discovered', 'OIDC: Discovery succeeded.', { ...about, publishedIssuer: metadata.issuer })
      for (const { member, configured, list, published } of unpublished(metadata, settings)) {
        const message = `The IdP's ${list} lacks ${configured} (${member}): logins may fail. Choose what it has, or allow it there.`
        log.warn('not-published', message, { ...about, member, configured, list, published })
      }
    },
  }
}
