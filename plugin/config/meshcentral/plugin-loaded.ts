import { soleMember } from '../domains/find-domains.ts'
import { isJsonObject, type JsonObject, membersOf } from '../json/json-object.ts'
import { jsonPath, quoted } from '../json/json-path.ts'
import { canonicalName } from '../json/member-name.ts'
import { nearestName } from '../json/nearest-name.ts'
import type { Problem, Warning } from '../problem.ts'
import { domainsOf, type ServerReading } from './server-reading.ts'

const NAME = 'meshcompanion'
const AT = ['settings', 'plugins']
const WRITE = `Write "plugins": { "enabled": true, "list": ["${NAME}"] } into \`settings\`.`

/** Members of `settings.plugins.meshcompanion`. */
export const OWN_SETTINGS = ['sessionCheckMinutes', 'introspectMinutes', 'loginTokenDays', 'presets'] as const

/**
 * Says whether MeshCentral loads the plugin, and what is misspelt in the plugin's own settings. Without the plugin,
 * MeshCentral's built-in strategy signs users in by the same configuration.
 */
export function checkPluginLoaded(config: JsonObject): ServerReading {
  const plugins = pluginsOf(config)
  return { problems: loadProblems(config, plugins), warnings: [...listWarnings(plugins), ...ownSettings(plugins)] }
}

/** Says what is misspelt in the plugin's own settings. */
export function checkOwnSettings(config: JsonObject): ServerReading {
  return { problems: [], warnings: ownSettings(pluginsOf(config)) }
}

function pluginsOf(config: JsonObject): unknown {
  return soleMember(membersOf(soleMember(config, 'settings', []).value), 'plugins', AT).value
}

function loadProblems(config: JsonObject, plugins: unknown): readonly Problem[] {
  const problem = (steps: readonly string[], reason: string, remedy: string): readonly Problem[] => [
    { path: jsonPath([...AT, ...steps]), reason: `${reason}: MeshCentral does not load the plugin`, remedy },
  ]
  if (plugins === undefined || plugins === null) {
    const [elsewhere] = pluginsElsewhere(config)
    return problem([], 'is missing', elsewhere === undefined ? WRITE : `Move it there from \`${elsewhere}\`.`)
  }
  if (plugins === false) return problem([], 'is false', WRITE)
  if (!isJsonObject(plugins)) return []
  const { value: enabled } = soleMember(plugins, 'enabled', AT)
  // As MeshCentral compares it: 0 and "" are off too.
  if (enabled === false || enabled === 0 || enabled === '') {
    return problem(['enabled'], 'is false', 'Write true, or leave it out.')
  }
  const { value: list } = soleMember(plugins, 'list', AT)
  if (list === undefined) return []
  if (!Array.isArray(list)) return problem(['list'], 'is not an array', `Write "list": ["${NAME}"].`)
  if (list.includes(NAME)) return []
  const near = list.find((name) => typeof name === 'string' && isMeant(name))
  const add = `Add "${NAME}" to it, in exactly this spelling.`
  return problem(['list'], `lacks "${NAME}"`, near === undefined ? add : `Write "${NAME}" instead of ${quoted(near)}.`)
}

function isMeant(name: string): boolean {
  return nearestName(name.replace(/[^a-z]/gi, ''), [NAME, 'MeshCentralCompanion']) !== undefined
}

/** MeshCentral then loads what was installed and enabled on its plugin page, which its database knows and no file. */
function listWarnings(plugins: unknown): readonly Warning[] {
  const isOn = plugins !== undefined && plugins !== null && plugins !== false
  if (!isOn || (isJsonObject(plugins) && soleMember(plugins, 'list', AT).value !== undefined)) return []
  return [
    {
      code: 'plugin_not_listed',
      path: jsonPath([...AT, 'list']),
      reason: 'is missing: MeshCentral loads the plugin only if it was installed and enabled on its plugin page',
      remedy: `Write "list": ["${NAME}"] to load it from its folder.`,
    },
  ]
}

/** Paths of a `plugins` object that nothing reads. */
function pluginsElsewhere(config: JsonObject): readonly string[] {
  const inDomains = domainsOf(config).flatMap(({ key, domain }) =>
    isJsonObject(soleMember(domain, 'plugins', []).value) ? [jsonPath(['domains', key, 'plugins'])] : [],
  )
  return isJsonObject(soleMember(config, 'plugins', []).value) ? ['plugins', ...inDomains] : inDomains
}

function ownSettings(plugins: unknown): readonly Warning[] {
  const { value: own } = soleMember(membersOf(plugins), NAME, AT)
  const at = [...AT, NAME]
  if (own === undefined || own === null) return []
  if (!isJsonObject(own)) {
    const remedy = `Write an object with any of ${OWN_SETTINGS.join(', ')}.`
    return [{ code: 'unknown_key', path: jsonPath(at), reason: 'must be an object, and is ignored', remedy }]
  }
  return Object.keys(own)
    .filter((name) => canonicalName(name, OWN_SETTINGS) === undefined && !name.startsWith('_'))
    .map((name) => {
      const near = nearestName(name, OWN_SETTINGS)
      const remedy = near === undefined ? `Known here: ${OWN_SETTINGS.join(', ')}.` : `Did you mean ${quoted(near)}?`
      return { code: 'unknown_key', path: jsonPath([...at, name]), reason: 'is not a known setting', remedy }
    })
}
