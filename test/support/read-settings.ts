import { type Settings, settingsFrom } from '../../sidecar/index.ts'

/**
 * Returns the settings of a configuration, and throws if it has mistakes. `aprsis.callsign` may be omitted. Relative
 * paths start at `folder`.
 */
export function settingsOf(config: object, folder = '/', environment: Readonly<Record<string, string>> = {}): Settings {
  const outcome = settingsFrom(JSON.stringify({ aprsis: { callsign: 'N0CALL' }, ...config }), folder, environment)
  if ('problems' in outcome) throw new Error(JSON.stringify(outcome.problems))
  return outcome.settings
}
