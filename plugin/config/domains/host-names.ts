import { isJsonObject } from '../json/json-object.ts'
import { nameOfHost } from './domain-address.ts'
import { soleMember } from './find-domains.ts'

/**
 * Host name → domain key, for every domain with a `dns` member, whether it has a login strategy or not, and whether
 * that one is in order: a request to one domain must never be answered by the strategy of another.
 */
export function domainsByHostName(config: unknown): ReadonlyMap<string, string> {
  const domains = isJsonObject(config) ? soleMember(config, 'domains', []).value : undefined
  const names = new Map<string, string>()
  if (!isJsonObject(domains)) return names
  for (const [key, domain] of Object.entries(domains)) {
    if (key === '' || !isJsonObject(domain)) continue
    const name = nameOfHost(soleMember(domain, 'dns', []).value)
    if (name !== null) names.set(name, key)
  }
  return names
}
