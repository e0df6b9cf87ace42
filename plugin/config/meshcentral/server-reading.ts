import { soleMember } from '../domains/find-domains.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Problem, Warning } from '../problem.ts'
import { isComment } from './host-members.ts'

/** Mistakes in MeshCentral's configuration outside the `oidc` objects. */
export interface ServerReading {
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

/** Returns the domains that MeshCentral reads, including those without a login strategy. */
export function domainsOf(config: JsonObject): readonly { readonly key: string; readonly domain: JsonObject }[] {
  const { value } = soleMember(config, 'domains', [])
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([key, domain]) =>
    isComment(key) || !isJsonObject(domain) ? [] : [{ key, domain }],
  )
}
