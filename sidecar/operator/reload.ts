import { jsonPath } from '../config/json-path.ts'
import type { Reading } from '../config/reading/read.ts'
import type { Settings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { CallsignLists } from '../messages/callsign-rules.ts'

interface ReloadParts {
  /** The settings that were in use when the sidecar started. */
  readonly settings: Settings
  readonly setCallsignLists: (lists: CallsignLists) => void
  readonly reloadTls: () => Promise<void>
  readonly log: Log
}

/**
 * Returns a function that applies callsign lists and a renewed certificate, which need no restart. Warns about other
 * changes. If the configuration has mistakes, logs them, and applies no setting. Never rejects.
 */
export function reloadBy({
  settings,
  setCallsignLists,
  reloadTls,
  log,
}: ReloadParts): (reading: Reading) => Promise<void> {
  return async (reading) => {
    if ('settings' in reading) {
      setCallsignLists(reading.settings.stations)
      const paths = differences(settings, reading.settings, []).filter((path) => !RELOADABLE.has(path))
      if (paths.length > 0)
        log.warn(
          'config-needs-restart',
          `Some settings changed that need a restart: ${paths.join(', ')}. Restart the sidecar.`,
          { paths },
        )
    } else
      for (const { path, reason, remedy } of reading.problems)
        log.error('config-not-reloaded', `${path}: ${reason}. ${remedy} Until then the old settings stay in use.`, {
          path,
        })
    await reloadTls()
  }
}

const RELOADABLE: ReadonlySet<string> = new Set([
  'stations.reserved',
  'stations.blockedSenders',
  // `main.ts` applies the settings of the log, because it created the log.
  'log.level',
  'log.format',
])

/**
 * Returns the paths of the settings that have different values in the two configurations. Both have the same members.
 */
function differences(current: unknown, reloaded: unknown, steps: readonly string[]): readonly string[] {
  if (isTable(current) && isTable(reloaded))
    return Object.keys(current).flatMap((name) => differences(current[name], reloaded[name], [...steps, name]))
  return JSON.stringify(current) === JSON.stringify(reloaded) ? [] : [jsonPath(steps)]
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
