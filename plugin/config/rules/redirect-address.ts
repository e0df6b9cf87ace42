import type { DomainAddress } from '../domains/domain-address.ts'
import { plainRoute, ROUTE_NAMES } from '../domains/route-names.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import { checkAddress, ENDPOINT_RULES } from './addresses.ts'

const { callback, ...OTHER_ROUTES } = ROUTE_NAMES
const AT = ['client', 'redirect_uri']

/** Checks the configured or default redirect address against the address of its domain. */
export function checkRedirectAddress(oidc: JsonObject, domain: DomainAddress): readonly Finding[] {
  const configured = isJsonObject(oidc.client) ? oidc.client.redirect_uri : undefined
  // The default redirect address is built from the host's own origin. It receives codes, so it must follow the same
  // rules as a configured address.
  if (configured === undefined) return checkAddress(domain.origin + domain.basePath, AT, ENDPOINT_RULES)
  if (typeof configured !== 'string' || !URL.canParse(configured)) return []
  return [...checkPath(new URL(configured), domain), ...checkHost(new URL(configured), domain)]
}

/**
 * Checks that the redirect address uses no path of another page. Otherwise a login would loop, or the other page at
 * that path would be unreachable.
 */
function checkPath({ pathname }: URL, { basePath }: DomainAddress): readonly Finding[] {
  const occupied = ['/', basePath, ...Object.values(OTHER_ROUTES).map((name) => basePath + name)]
  if (!occupied.some((route) => plainRoute(route) === plainRoute(pathname))) return []
  const remedy = `Use another path, such as ${basePath}${callback}, and register the new address at the IdP.`
  return [{ steps: AT, reason: 'has a path that the server uses for something else', remedy }]
}

/**
 * Warns if the redirect address is not on the domain's host, because browsers do not send the login's cookie there. It
 * is no error, because a server can have host names that its configuration lacks.
 */
function checkHost({ hostname, protocol }: URL, { origin, basePath }: DomainAddress): readonly Finding[] {
  if (!URL.canParse(origin) || hostname === new URL(origin).hostname) return []
  const expected = new URL(origin).hostname
  // A plain HTTP address must be on loopback, because an earlier rule refuses all other plain HTTP addresses.
  if (protocol === 'http:') {
    const reason = "leads to the user's own machine, so only a browser on the server itself reaches the server"
    const remedy = `Write "${origin}${basePath}${callback}", and register this address at the IdP.`
    return [{ warning: 'other_host', steps: AT, reason, remedy }]
  }
  return [
    {
      warning: 'other_host',
      steps: AT,
      reason: `is not on ${expected}, the configured host of this domain: logins that begin at ${expected} fail`,
      remedy: `Use an address on ${expected} and register it at the IdP, or correct the host name in settings.cert or in the domain's dns.`,
    },
  ]
}
