import type { DomainAddress } from '../../domains/domain-address.ts'
import { ROUTE_NAMES } from '../../domains/route-names.ts'
import { plainRoute } from '../../domains/same-route.ts'
import { isJsonObject, type JsonObject } from '../../json/json-object.ts'
import type { Finding } from '../../problem.ts'

const { callback, ...OTHERS } = ROUTE_NAMES

/**
 * A redirect address on a path that has another use: a login would run in a circle there, or the page that it belongs to be gone.
 */
export function checkRedirectPath(oidc: JsonObject, { basePath }: DomainAddress): readonly Finding[] {
  const address = isJsonObject(oidc.client) ? oidc.client.redirect_uri : undefined
  if (typeof address !== 'string' || !URL.canParse(address)) return []
  const taken = ['/', basePath, ...Object.values(OTHERS).map((name) => basePath + name)]
  const path = plainRoute(new URL(address).pathname)
  if (!taken.some((route) => plainRoute(route) === path)) return []
  const remedy = `Use a path of its own, such as ${basePath}${callback}, and register it at the IdP.`
  return [{ at: ['client', 'redirect_uri'], reason: 'is on a path that has another use', remedy }]
}
