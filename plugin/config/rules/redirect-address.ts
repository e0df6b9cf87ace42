import type { DomainAddress } from '../domains/domain-address.ts'
import { plainRoute, ROUTE_NAMES } from '../domains/route-names.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import { checkAddress, ENDPOINT_RULES } from './addresses.ts'

const { callback, ...OTHERS } = ROUTE_NAMES
const AT = ['client', 'redirect_uri']

/** What is wrong with the redirect address where the domain is served, be it written or the default one. */
export function checkRedirectAddress(oidc: JsonObject, domain: DomainAddress): readonly Finding[] {
  const given = isJsonObject(oidc.client) ? oidc.client.redirect_uri : undefined
  // Codes come back there: one that is made from the host's own origin must be as safe as a written one.
  if (given === undefined) return checkAddress(domain.origin + domain.basePath, AT, ENDPOINT_RULES)
  if (typeof given !== 'string' || !URL.canParse(given)) return []
  return [...checkPath(new URL(given), domain), ...checkHost(new URL(given), domain)]
}

/** On a path that has another use: a login would run in a circle there, or the page that it belongs to be gone. */
function checkPath({ pathname }: URL, { basePath }: DomainAddress): readonly Finding[] {
  const taken = ['/', basePath, ...Object.values(OTHERS).map((name) => basePath + name)]
  if (!taken.some((route) => plainRoute(route) === plainRoute(pathname))) return []
  const remedy = `Use a path of its own, such as ${basePath}${callback}, and register it at the IdP.`
  return [{ at: AT, reason: 'is on a path that has another use', remedy }]
}

/**
 * On another host than the one by which browsers reach the domain: a login's cookie stays behind at the host where it
 * began. A warning, since a server can have further names that its configuration does not tell.
 */
function checkHost({ hostname, protocol }: URL, { origin, basePath }: DomainAddress): readonly Finding[] {
  if (!URL.canParse(origin) || hostname === new URL(origin).hostname) return []
  const own = new URL(origin).hostname
  // Other plain HTTP addresses are errors.
  if (protocol === 'http:') {
    const reason = `leads to the user's own machine: no browser reaches this server by it, but one that runs on it`
    const remedy = `Write "${origin}${basePath}${callback}", and register that one at the IdP.`
    return [{ warning: 'other_host', at: AT, reason, remedy }]
  }
  return [
    {
      warning: 'other_host',
      at: AT,
      reason: `is on another host than ${own}, which this domain is configured to have: logins that begin there fail`,
      remedy: `Use an address on ${own} and register it at the IdP, or correct the domain's host name.`,
    },
  ]
}
