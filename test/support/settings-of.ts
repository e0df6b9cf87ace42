import { type Settings, settingsFrom } from '../../sidecar/index.ts'

/**
 * The settings of a configuration without a mistake, which may leave `aprsis.callsign` out. Its paths begin at
 * `folder`.
 */
export function settingsOf(config: object, folder = '/', environment: Readonly<Record<string, string>> = {}): Settings {
  const outcome = settingsFrom(JSON.stringify({ aprsis: { callsign: 'N0CALL' }, ...config }), folder, environment)
  if ('problems' in outcome) throw new Error(JSON.stringify(outcome.problems))
  return outcome.settings
}
