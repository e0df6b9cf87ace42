import { isJsonObject } from '../json/json-object.ts'
import { hostNameOf } from './domain-address.ts'
import { soleMember } from './find-domains.ts'

/**
 * Maps each domain's `dns` to its key, even without a valid strategy. Otherwise another domain's strategy would answer.
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
