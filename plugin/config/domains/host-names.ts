import { isJsonObject } from '../json/json-object.ts'
import { hostNameOf } from './domain-address.ts'
import { soleMember } from './find-domains.ts'

/**
 * Returns the domain key for each host name, for every domain with a `dns` member. It does not matter whether the
 * domain has a login strategy, or a valid one: a request to one domain must never be answered by another domain's
 * strategy.
 */
export function domainsByHostName(config: unknown): ReadonlyMap<string, string> {
  const domains = isJsonObject(config) ? soleMember(config, 'domains', []).value : undefined
  const names = new Map<string, string>()
  if (!isJsonObject(domains)) return names
  for (const [key, domain] of Object.entries(domains)) {
    if (key === '' || !isJsonObject(domain)) continue
    const name = hostNameOf(soleMember(domain, 'dns', []).value)
    if (name !== null) names.set(name, key)
  }
  return names
}
