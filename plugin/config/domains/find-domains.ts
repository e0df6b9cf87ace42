import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { jsonPath, quoted } from '../json/json-path.ts'
import { spellingsOf } from '../json/member-name.ts'
import { isComment } from '../meshcentral/host-members.ts'
import type { Problem, Steps } from '../problem.ts'

/** A domain with `authStrategies.oidc`, as written in the configuration file. */
export interface FoundDomain {
  readonly key: string
  readonly domain: JsonObject
  readonly oidc: unknown
  /** Path from the root of the configuration to the `oidc` object, in canonical letter case. */
  readonly steps: Steps
  /** The path to the `oidc` object, in the letter case of the configuration file. */
  readonly written: readonly string[]
  readonly problems: readonly Problem[]
}

export interface FoundDomains {
  readonly settings: JsonObject
  readonly domains: readonly FoundDomain[]
  /** Problems that make the whole configuration unusable. */
  readonly problems: readonly Problem[]
}

export interface FindOptions {
  /**
   * Whether to read the file as MeshCentral does. Default false. If true:
   * - Domains with keys that begin with `_` are comments.
   * - `domaindefaults` supplies members that a domain lacks.
   * - The default domain always exists.
   * - A domain that only shares files has no login.
   */
  readonly meshCentral?: boolean
}

/** Finds the domains of a server's configuration. Member names match in any letter case; domain keys match exactly. */
export function findDomains(config: unknown, { meshCentral = false }: FindOptions = {}): FoundDomains {
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
  const domainsFound = meshCentral
    ? findAsMeshCentral(config, domains.value, domains.written)
    : Object.entries(domains.value).flatMap(([key, domain]) =>
        isJsonObject(domain) ? findOidc(key, domain, ownPlace(key, domains.written)) : [],
      )
  return { settings: isJsonObject(settings.value) ? settings.value : {}, domains: domainsFound, problems: [] }
}

function findAsMeshCentral(config: JsonObject, domains: JsonObject, written: string): readonly FoundDomain[] {
  const defaults = soleMember(config, 'domaindefaults', [])
  const inherited = isJsonObject(defaults.value) ? defaults.value : {}
  const shared = { steps: ['domaindefaults'], written: [defaults.written] }
  const { '': defaultDomain, ...otherDomains } = domains
  const all = { '': defaultDomain ?? {}, ...otherDomains }
  return Object.entries(all).flatMap(([key, domain]) => {
    if (isComment(key) || !isJsonObject(domain)) return []
    const whole = withDefaults(domain, inherited)
    const { value: share } = soleMember(whole, 'share', [])
    if (share !== undefined && share !== null) return []
    const isOwn = spellingsOf(domain, 'authStrategies').some((name) => domain[name] !== null)
    return findOidc(key, whole, isOwn ? ownPlace(key, written) : shared)
  })
}

/**
 * Adds the members of `domaindefaults` that a domain lacks. Like MeshCentral, adds whole members only and never merges
 * their contents.
 */
function withDefaults(domain: JsonObject, defaults: JsonObject): JsonObject {
  const present = Object.entries(domain).filter(([, value]) => value !== null && value !== undefined)
  const names = new Set(present.map(([name]) => name.toLowerCase()))
  const missing = Object.entries(defaults).filter(([name]) => !names.has(name.toLowerCase()))
  return Object.fromEntries([...present, ...missing])
}

interface Place {
  readonly steps: readonly string[]
  readonly written: readonly string[]
}

const ownPlace = (key: string, written: string): Place => ({ steps: ['domains', key], written: [written, key] })

function findOidc(key: string, domain: JsonObject, { steps, written }: Place): readonly FoundDomain[] {
  const all = spellingsOf(domain, 'authStrategies').flatMap((name) => {
    const strategies = domain[name]
    if (!isJsonObject(strategies)) return []
    return spellingsOf(strategies, 'oidc').map((oidc) => ({ path: [name, oidc], value: strategies[oidc] }))
  })
  const [first, ...duplicates] = all
  if (!first) return []
  const place = [...steps, 'authStrategies', 'oidc']
  const reason = `occurs ${all.length} times, in different letter case`
  const remedy = 'Keep one of them. Letter case makes no difference.'
  const problems = duplicates.length > 0 ? [{ path: jsonPath(place), reason, remedy }] : []
  return [{ key, domain, oidc: first.value, steps: place, written: [...written, ...first.path], problems }]
}

/** Finds a member in any letter case. Reports a problem if it occurs twice, because it is unclear which one applies. */
export function soleMember(
  object: JsonObject,
  name: string,
  steps: readonly string[],
): { readonly value: unknown; readonly written: string; readonly problems: readonly Problem[] } {
  const spellings = spellingsOf(object, name)
  const written = spellings[0] ?? name
  const value = Object.hasOwn(object, written) ? object[written] : undefined
  if (spellings.length < 2) return { value, written, problems: [] }
  const reason = `occurs ${spellings.length} times, as ${spellings.map(quoted).join(' and ')}`
  const remedy = 'Keep one of them. Letter case makes no difference.'
  return { value, written, problems: [{ path: jsonPath([...steps, name]), reason, remedy }] }
}
