import { soleMember } from '../domains/find-domains.ts'
import { isJsonObject, type JsonObject, membersOf } from '../json/json-object.ts'
import { jsonPath, quoted } from '../json/json-path.ts'
import { canonicalName } from '../json/member-name.ts'
import { nearestName } from '../json/nearest-name.ts'
import type { Problem, Warning } from '../problem.ts'
import { domainsOf, type ServerReading } from './server-reading.ts'

const NAME = 'meshcompanion'
const AT = ['settings', 'plugins']
const WRITE = `Write "plugins": { "enabled": true, "list": ["${NAME}"] } in \`settings\`.`

/** The plugin's own settings, which are members of `settings.plugins.meshcompanion`. */
export const OWN_SETTINGS = ['sessionCheckMinutes', 'introspectMinutes', 'loginTokenDays', 'presets'] as const

/**
 * Checks the plugin's own settings, and that MeshCentral loads it. Otherwise the built-in strategy signs users in,
 * unnoticed.
 */
export function checkPluginLoaded(config: JsonObject): ServerReading {
  const plugins = pluginsOf(config)
  return { problems: loadProblems(config, plugins), warnings: [...listWarnings(plugins), ...ownSettings(plugins)] }
}

/** Checks the plugin's own settings only. */
export function checkOwnSettings(config: JsonObject): ServerReading {
  return { problems: [], warnings: ownSettings(pluginsOf(config)) }
}

function pluginsOf(config: JsonObject): unknown {
  return soleMember(membersOf(soleMember(config, 'settings', []).value), 'plugins', AT).value
}

function loadProblems(config: JsonObject, plugins: unknown): readonly Problem[] {
  const problem = (steps: readonly string[], reason: string, remedy: string): readonly Problem[] => [
    { path: jsonPath([...AT, ...steps]), reason: `${reason}, so MeshCentral does not load the plugin`, remedy },
  ]
  if (plugins === undefined || plugins === null) {
    const [elsewhere] = pluginsElsewhere(config)
    return problem([], 'is missing', elsewhere === undefined ? WRITE : `Move \`${elsewhere}\` there.`)
  }
  if (plugins === false) return problem([], 'is false', WRITE)
  if (!isJsonObject(plugins)) return []
  const { value: enabled } = soleMember(plugins, 'enabled', AT)
  // MeshCentral also treats the values 0 and "" of `enabled` as false.
  if (enabled === false || enabled === 0 || enabled === '') {
    return problem(['enabled'], 'is false', 'Write true, or omit it.')
  }
  const { value: list } = soleMember(plugins, 'list', AT)
  if (list === undefined) return []
  if (!Array.isArray(list)) return problem(['list'], 'is not an array', `Write "list": ["${NAME}"].`)
  if (list.includes(NAME)) return []
  const similar = list.find((name) => typeof name === 'string' && resemblesName(name))
  const add = `Add "${NAME}" to it, in exactly this spelling.`
  return problem(
    ['list'],
    `lacks "${NAME}"`,
    similar === undefined ? add : `Write "${NAME}" instead of ${quoted(similar)}.`,
  )
}

function resemblesName(name: string): boolean {
  return nearestName(name.replace(/[^a-z]/gi, ''), [NAME, 'MeshCentralCompanion']) !== undefined
}

/**
 * Warns about a missing `settings.plugins.list`. MeshCentral then loads only plugins that are enabled in its database,
 * which this check cannot see.
 */
function listWarnings(plugins: unknown): readonly Warning[] {
  const isOn = plugins !== undefined && plugins !== null && plugins !== false
  if (!isOn || (isJsonObject(plugins) && soleMember(plugins, 'list', AT).value !== undefined)) return []
  return [
    {
      code: 'plugin_not_listed',
      path: jsonPath([...AT, 'list']),
      reason:
        "is missing, so MeshCentral loads the plugin only if it was installed and enabled on MeshCentral's plugin page",
      remedy: `Write "list": ["${NAME}"] to load the plugin from its folder.`,
    },
  ]
}

/** Returns the paths of `plugins` objects in places where MeshCentral ignores them. */
function pluginsElsewhere(config: JsonObject): readonly string[] {
  const inDomains = domainsOf(config).flatMap(({ key, domain }) =>
    isJsonObject(soleMember(domain, 'plugins', []).value) ? [jsonPath(['domains', key, 'plugins'])] : [],
  )
  return isJsonObject(soleMember(config, 'plugins', []).value) ? ['plugins', ...inDomains] : inDomains
}

function ownSettings(plugins: unknown): readonly Warning[] {
  const { value: settings } = soleMember(membersOf(plugins), NAME, AT)
  const steps = [...AT, NAME]
  if (settings === undefined || settings === null) return []
  if (!isJsonObject(settings)) {
    const remedy = `Write an object with any of ${OWN_SETTINGS.join(', ')}.`
    return [{ code: 'unknown_key', path: jsonPath(steps), reason: 'must be an object, and is ignored', remedy }]
  }
  return Object.keys(settings)
    .filter((name) => canonicalName(name, OWN_SETTINGS) === undefined && !name.startsWith('_'))
    .map((name) => {
      const similar = nearestName(name, OWN_SETTINGS)
      const remedy =
        similar === undefined ? `Known here: ${OWN_SETTINGS.join(', ')}.` : `Did you mean ${quoted(similar)}?`
      return { code: 'unknown_key', path: jsonPath([...steps, name]), reason: 'is not a known setting', remedy }
    })
}
