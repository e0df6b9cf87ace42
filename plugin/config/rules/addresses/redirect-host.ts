import type { DomainAddress } from '../../domains/domain-address.ts'
import { isJsonObject, type JsonObject } from '../../json/json-object.ts'
import type { Finding } from '../../problem.ts'

/**
 * A redirect address on another host than the one by which browsers reach the domain: a login's cookie stays behind at the host where it
 * began. A warning, since a server can have further names that its configuration does not tell.
 */
export function checkRedirectHost(oidc: JsonObject, { origin }: DomainAddress): readonly Finding[] {
  const address = isJsonObject(oidc.client) ? oidc.client.redirect_uri : undefined
  if (typeof address !== 'string' || !URL.canParse(address) || !URL.canParse(origin)) return []
  const own = new URL(origin).hostname
  if (new URL(address).hostname === own) return []
  return [
    {
      warning: 'other_host',
      at: ['client', 'redirect_uri'],
      reason: `is on another host than ${own}, which this domain is configured to have: logins that begin there fail`,
      remedy: `Use an address on ${own} and register it at the IdP, or correct the domain's host name.`,
    },
  ]
}
