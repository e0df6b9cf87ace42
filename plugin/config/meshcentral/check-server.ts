import { isJsonObject } from '../json/json-object.ts'
import { checkLikelyTypos } from './likely-typos.ts'
import { checkMisplaced } from './misplaced.ts'
import { checkOwnSettings, checkPluginLoaded } from './plugin-loaded.ts'
import type { ServerReading } from './server-reading.ts'
import { checkServerSettings } from './server-settings.ts'

/**
 * Checks MeshCentral's configuration outside the `oidc` objects. Names of members may be in any letter case: the file
 * has them as they were written, and MeshCentral in lower case.
 *
 * @param isLoaded whether the plugin is loaded, or need not be: then nothing is said of it. Default false
 */
export function checkMeshCentralServer(config: unknown, { isLoaded = false } = {}): ServerReading {
  if (!isJsonObject(config)) return { problems: [], warnings: [] }
  const loaded = isLoaded ? checkOwnSettings(config) : checkPluginLoaded(config)
  const misplaced = checkMisplaced(config)
  return {
    problems: [...loaded.problems, ...misplaced.problems, ...checkLikelyTypos(config)],
    warnings: [...loaded.warnings, ...checkServerSettings(config), ...misplaced.warnings],
  }
}
