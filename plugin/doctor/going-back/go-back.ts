import { type FoundDomain, findDomains, soleMember } from '../../config/domains/find-domains.ts'
import { isJsonObject, type JsonObject, membersOf } from '../../config/json/json-object.ts'
import { canonicalName, spellingsOf } from '../../config/json/member-name.ts'
import { moveDeprecatedKeys } from '../../config/migration/deprecated-keys.ts'
import { settleLetterCase } from '../../config/migration/key-case.ts'
import { oidcSchema } from '../../config/rules/schema/schema.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { PRESETS } from '../../presets/presets.ts'
import { builtInOidc } from './built-in-oidc.ts'
import { type Difference, differencesOf } from './differences.ts'

const PLUGIN = 'meshcompanion'

/** A server's configuration for MeshCentral's built-in strategy. */
export interface WayBack {
  /** The whole configuration as JSON text. */
  readonly text: string
  /** The differences between the built-in strategy and the plugin, by domain key. */
  readonly differences: ReadonlyMap<string, readonly Difference[]>
}

/**
 * Rewrites MeshCentral's configuration so that its built-in strategy behaves as much like the plugin as possible, and
 * lists what will differ.
 *
 * @param settingsOf the settings of each domain with a strategy, without errors
 */
export function goBack(config: JsonObject, settingsOf: ReadonlyMap<string, DomainSettings>): WayBack {
  const schema = oidcSchema(PRESETS)
  const { domains } = findDomains(config, { meshCentral: true })
  const hasDefault = domains.some(({ key }) => key === '')
  const differences = new Map<string, readonly Difference[]>()
  const strategies = new Map<string, JsonObject>()
  for (const domainsFound of domains) {
    const settings = settingsOf.get(domainsFound.key)
    if (!settings || !isJsonObject(domainsFound.oidc)) continue
    const { oidc } = moveDeprecatedKeys(settleLetterCase(domainsFound.oidc, schema).oidc)
    differences.set(domainsFound.key, [
      ...differencesOf(oidc, settings),
      ...domainDifferences(domainsFound, hasDefault),
    ])
    strategies.set(domainsFound.key, builtInOidc(oidc, settings))
  }
  const rewritten = withoutPlugin(withStrategies(config, domains, strategies))
  return { text: `${JSON.stringify(rewritten, null, 2)}\n`, differences }
}

function domainDifferences({ domain }: FoundDomain, hasDefault: boolean): readonly Difference[] {
  const isGiven = (name: string) => ![undefined, null].includes(soleMember(domain, name, []).value as null | undefined)
  return [
    ...(isGiven('oidcCredentials')
      ? [{ path: 'oidcCredentials', text: 'is not read: the built-in strategy has no keys and no certificate.' }]
      : []),
    ...(isGiven('dns') && !hasDefault
      ? [
          {
            path: 'dns',
            text: 'makes MeshCentral exit when it starts, unless the default domain has an `oidc` object too.',
          },
        ]
      : []),
  ]
}

/**
 * Gives each domain an `oidc` object of its own. With several domains, an `oidc` object in `domaindefaults` would make
 * MeshCentral exit.
 */
function withStrategies(
  config: JsonObject,
  domainsFound: readonly FoundDomain[],
  strategies: ReadonlyMap<string, JsonObject>,
): JsonObject {
  const { value, written } = soleMember(config, 'domains', [])
  const domains: Record<string, unknown> = { ...membersOf(value) }
  for (const { key, domain } of domainsFound) {
    const oidc = strategies.get(key)
    if (!oidc) continue
    const [name = 'authStrategies'] = spellingsOf(domain, 'authStrategies')
    const inherited = membersOf(domain[name])
    const otherStrategies = Object.entries(inherited).filter(
      ([member]) => canonicalName(member, ['oidc']) === undefined,
    )
    domains[key] = { ...membersOf(domains[key]), [name]: { ...Object.fromEntries(otherStrategies), oidc } }
  }
  const defaults = soleMember(config, 'domaindefaults', [])
  const rest = Object.entries(membersOf(defaults.value)).filter(
    ([name]) => canonicalName(name, ['authStrategies']) === undefined,
  )
  return {
    ...config,
    ...(isJsonObject(defaults.value) ? { [defaults.written]: Object.fromEntries(rest) } : {}),
    [written]: domains,
  }
}

function withoutPlugin(config: JsonObject): JsonObject {
  const settings = soleMember(config, 'settings', [])
  const plugins = soleMember(membersOf(settings.value), 'plugins', [])
  if (!isJsonObject(plugins.value)) return config
  const rest = Object.entries(plugins.value)
    .filter(([name]) => canonicalName(name, [PLUGIN]) === undefined)
    .map(([name, value]) => [name, Array.isArray(value) ? value.filter((plugin) => plugin !== PLUGIN) : value])
  return {
    ...config,
    [settings.written]: { ...membersOf(settings.value), [plugins.written]: Object.fromEntries(rest) },
  }
}
