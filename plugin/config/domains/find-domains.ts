import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { jsonPath, quoted } from '../json/json-path.ts'
import { spellingsOf } from '../json/member-name.ts'
import { isComment } from '../meshcentral/host-members.ts'
import type { Problem, Steps } from '../problem.ts'

/** A domain that has `authStrategies.oidc`, as the file has it. */
export interface FoundDomain {
  readonly key: string
  readonly domain: JsonObject
  readonly oidc: unknown
  /** From the whole configuration to the `oidc` object, under canonical names. */
  readonly at: Steps
  /** The same, as written. */
  readonly written: readonly string[]
  readonly problems: readonly Problem[]
}

export interface FoundDomains {
  readonly settings: JsonObject
  readonly domains: readonly FoundDomain[]
  /** What makes the configuration unusable as a whole. */
  readonly problems: readonly Problem[]
}

export interface FindOptions {
  /**
   * True: reads the file as MeshCentral does. Domains whose keys begin with `_` are comments, `domaindefaults` stands
   * in for members that a domain lacks, the default domain is always there, and a domain that only shares files has no
   * login. Default false.
   */
  readonly meshCentral?: boolean
}

/** Looks a server's configuration over. Names of members are taken in any letter case; keys of domains are data. */
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
  const found = meshCentral
    ? findAsMeshCentral(config, domains.value, domains.written)
    : Object.entries(domains.value).flatMap(([key, domain]) =>
        isJsonObject(domain) ? findOidc(key, domain, ownPlace(key, domains.written)) : [],
      )
  return { settings: isJsonObject(settings.value) ? settings.value : {}, domains: found, problems: [] }
}

function findAsMeshCentral(config: JsonObject, domains: JsonObject, written: string): readonly FoundDomain[] {
  const defaults = soleMember(config, 'domaindefaults', [])
  const inherited = isJsonObject(defaults.value) ? defaults.value : {}
  const shared = { at: ['domaindefaults'], written: [defaults.written] }
  const all = Object.hasOwn(domains, '') ? domains : { '': {}, ...domains }
  return Object.entries(all).flatMap(([key, domain]) => {
    if (isComment(key) || !isJsonObject(domain)) return []
    const whole = withDefaults(domain, inherited)
    const { value: share } = soleMember(whole, 'share', [])
    if (share !== undefined && share !== null) return []
    const isOwn = spellingsOf(domain, 'authStrategies').some((name) => domain[name] !== null)
    return findOidc(key, whole, isOwn ? ownPlace(key, written) : shared)
  })
}

/** MeshCentral takes a whole member from `domaindefaults` where the domain has none, and never a part of one. */
function withDefaults(domain: JsonObject, defaults: JsonObject): JsonObject {
  const given = Object.entries(domain).filter(([, value]) => value !== null && value !== undefined)
  const names = new Set(given.map(([name]) => name.toLowerCase()))
  const missing = Object.entries(defaults).filter(([name]) => !names.has(name.toLowerCase()))
  return Object.fromEntries([...given, ...missing])
}

interface Place {
  readonly at: readonly string[]
  readonly written: readonly string[]
}

const ownPlace = (key: string, written: string): Place => ({ at: ['domains', key], written: [written, key] })

function findOidc(key: string, domain: JsonObject, { at, written }: Place): readonly FoundDomain[] {
  const all = spellingsOf(domain, 'authStrategies').flatMap((name) => {
    const strategies = domain[name]
    if (!isJsonObject(strategies)) return []
    return spellingsOf(strategies, 'oidc').map((oidc) => ({ path: [name, oidc], value: strategies[oidc] }))
  })
  const [first, ...others] = all
  if (!first) return []
  const place = [...at, 'authStrategies', 'oidc']
  const reason = `is there ${all.length} times, in different letter case`
  const remedy = 'Keep one of them: letter case makes no difference.'
  const problems = others.length > 0 ? [{ path: jsonPath(place), reason, remedy }] : []
  return [{ key, domain, oidc: first.value, at: place, written: [...written, ...first.path], problems }]
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
