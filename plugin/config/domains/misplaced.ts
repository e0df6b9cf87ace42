import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import { canonicalName, spellingsOf } from '../json/member-name.ts'
import { nearestName } from '../json/nearest-name.ts'
import type { Steps, Warning } from '../problem.ts'

/**
 * Single sign-on in places where nothing reads it: `authStrategies` or `oidc` misspelt, or beside where they belong. Whoever wrote it finds a
 * login page without a button otherwise, and nothing that says why.
 */
export function findMisplaced(config: unknown): readonly Warning[] {
  if (!isJsonObject(config)) return []
  const settings = spellingsOf(config, 'settings').flatMap((name) => strategiesIn(config[name], [name]))
  const domains = spellingsOf(config, 'domains').flatMap((name) => {
    const all = config[name]
    if (!isJsonObject(all)) return []
    // A domain may well have the key "oidc": then it is no login strategy.
    const amongDomains = strategiesIn(all, [name]).filter(({ value }) => isStrategy(value) || hasStrategy(value))
    const strayed = amongDomains.map(({ at }) => at[at.length - 1])
    const inside = Object.entries(all).flatMap(([key, domain]) =>
      strayed.includes(key) ? [] : misplacedInDomain(domain, [name, key]),
    )
    return [...amongDomains.map(({ at }) => elsewhere(at)), ...inside]
  })
  return [...[...strategiesIn(config, []), ...settings].map(({ at }) => elsewhere(at)), ...domains]
}

interface Place {
  readonly at: Steps
  readonly value: unknown
}

/** Members of an object that does not have any that are strategies, or hold them, by their names. */
function strategiesIn(object: unknown, at: Steps): readonly Place[] {
  if (!isJsonObject(object)) return []
  return Object.entries(object).flatMap(([name, value]) => {
    const isMeant = canonicalName(name, ['oidc']) !== undefined || isNameOfStrategies(name)
    return isMeant && isJsonObject(value) ? [{ at: [...at, name], value }] : []
  })
}

function misplacedInDomain(domain: unknown, at: Steps): readonly Warning[] {
  if (!isJsonObject(domain)) return []
  return Object.entries(domain).flatMap(([name, value]): readonly Warning[] => {
    if (!isJsonObject(value)) return []
    const here = [...at, name]
    if (canonicalName(name, ['authStrategies']) !== undefined) return misplacedInStrategies(value, here)
    if (canonicalName(name, ['oidc']) !== undefined) return [elsewhere(here)]
    return isNameOfStrategies(name) ? [misspelt(here, 'authStrategies')] : []
  })
}

function misplacedInStrategies(strategies: JsonObject, at: Steps): readonly Warning[] {
  if (isStrategy(strategies)) return [elsewhere(at)]
  return Object.entries(strategies).flatMap(([name, value]) =>
    canonicalName(name, ['oidc']) === undefined && isJsonObject(value) && nearestName(name, ['oidc']) !== undefined
      ? [misspelt([...at, name], 'oidc')]
      : [],
  )
}

function isNameOfStrategies(name: string): boolean {
  return nearestName(name, ['authStrategies']) !== undefined
}

function hasStrategy(value: unknown): boolean {
  return isJsonObject(value) && spellingsOf(value, 'oidc').length > 0
}

/** By what every `oidc` object has, the deprecated way of writing it included. */
function isStrategy(value: unknown): boolean {
  return isJsonObject(value) && ['client', 'issuer', 'clientid'].some((name) => spellingsOf(value, name).length > 0)
}

function misspelt(at: Steps, name: string): Warning {
  const remedy = `Did you mean "${name}"?`
  return { code: 'misplaced', path: jsonPath(at), reason: 'is not read: no setting has this name', remedy }
}

function elsewhere(at: Steps): Warning {
  const remedy = 'Move it to domains.<key>.authStrategies.oidc; the key of the default domain is "".'
  return { code: 'misplaced', path: jsonPath(at), reason: 'is not read in this place', remedy }
}
