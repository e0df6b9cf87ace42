import { isJsonObject } from '../json/json-object.ts'
import { checkLikelyTypos } from './likely-typos.ts'
import { checkMisplaced } from './misplaced.ts'
import { checkOwnSettings, checkPluginLoaded } from './plugin-loaded.ts'
import type { ServerReading } from './server-reading.ts'
import { checkServerSettings } from './server-settings.ts'

/**
 * Checks MeshCentral's configuration outside the `oidc` objects. MeshCentral ignores the letter case of member names.
 *
 * @param isLoaded true to skip the check that MeshCentral loads the plugin
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
