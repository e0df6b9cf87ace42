import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { jsonPath, quoted } from '../json/json-path.ts'
import { spellingsOf } from '../json/member-name.ts'
import type { Problem } from '../problem.ts'

/** A domain that has `authStrategies.oidc`, as the file has it. */
export interface FoundDomain {
  readonly key: string
  readonly domain: JsonObject
  readonly oidc: unknown
  /** Names from the whole configuration to the `oidc` object, as written. */
  readonly written: readonly string[]
  readonly problems: readonly Problem[]
}

export interface FoundDomains {
  readonly settings: JsonObject
  readonly domains: readonly FoundDomain[]
  /** What makes the configuration unusable as a whole. */
  readonly problems: readonly Problem[]
}

/** Looks a server's configuration over. Names of members are taken in any letter case; keys of domains are data. */
export function findDomains(config: unknown): FoundDomains {
  const nothing = { settings: {}, domains: [] }
  if (!isJsonObject(config)) {
    const remedy = 'Write an object with `settings` and `domains`.'
    return { ...nothing, problems: [{ path: '$', reason: 'must be an object', remedy }] }
  }
  const settings = soleMember(config, 'settings', [])
  const domains = soleMember(config, 'domains', [])
  const problems = [...settings.problems, ...domains.problems]
  if (problems.length > 0) return { ...nothing, problems }
  if (!isJsonObject(domains.value)) {
    const reason = domains.value === undefined ? 'is missing' : 'must be an object'
    const remedy = 'Write an object with a member for each domain; the key of the default domain is "".'
    return { ...nothing, problems: [{ path: 'domains', reason, remedy }] }
  }
  const found = Object.entries(domains.value).flatMap(([key, domain]) =>
    isJsonObject(domain) ? findOidc(key, domain, domains.written) : [],
  )
  return { settings: isJsonObject(settings.value) ? settings.value : {}, domains: found, problems: [] }
}

function findOidc(key: string, domain: JsonObject, written: string): readonly FoundDomain[] {
  const all = spellingsOf(domain, 'authStrategies').flatMap((name) => {
    const strategies = domain[name]
    if (!isJsonObject(strategies)) return []
    return spellingsOf(strategies, 'oidc').map((oidc) => ({ path: [name, oidc], value: strategies[oidc] }))
  })
  const [first, ...others] = all
  if (!first) return []
  const reason = `is there ${all.length} times, in different letter case`
  const remedy = 'Keep one of them: letter case makes no difference.'
  const twice = { path: jsonPath(['domains', key, 'authStrategies', 'oidc']), reason, remedy }
  const problems = others.length > 0 ? [twice] : []
  return [{ key, domain, oidc: first.value, written: [written, key, ...first.path], problems }]
}

/** A member in any letter case; a problem when it is there twice, for nobody knows which one is meant. */
export function soleMember(
  object: JsonObject,
  name: string,
  at: readonly string[],
): { readonly value: unknown; readonly written: string; readonly problems: readonly Problem[] } {
  const spellings = spellingsOf(object, name)
  const written = spellings[0] ?? name
  const value = Object.hasOwn(object, written) ? object[written] : undefined
  if (spellings.length < 2) return { value, written, problems: [] }
  const reason = `is there ${spellings.length} times, as ${spellings.map(quoted).join(' and ')}`
  const remedy = 'Keep one of them: letter case makes no difference.'
  return { value, written, problems: [{ path: jsonPath([...at, name]), reason, remedy }] }
}
