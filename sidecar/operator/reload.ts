import { jsonPath } from '../config/json-path.ts'
import type { Reading } from '../config/reading/read.ts'
import type { Settings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { CallsignLists } from '../messages/callsign-rules.ts'

interface ReloadParts {
  /** Those of the start. */
  readonly settings: Settings
  readonly setCallsignLists: (lists: CallsignLists) => void
  readonly reloadTls: () => Promise<void>
  readonly log: Log
}

/**
 * Takes up what changes without a restart: the lists of calls in the configuration, and a renewed certificate. What
 * else is different by now is warned of. A configuration with mistakes changes nothing, and each of them is logged; so
 * is a certificate that is no good. Never rejects.
 */
export function reloadBy({
  settings,
  setCallsignLists: changeCalls,
  reloadTls,
  log,
}: ReloadParts): (reading: Reading) => Promise<void> {
  return async (reading) => {
    if ('settings' in reading) {
      changeCalls(reading.settings.stations)
      const paths = differences(settings, reading.settings, []).filter((path) => !TAKEN_UP.has(path))
      if (paths.length > 0)
        log.warn('config-needs-restart', `Restart the sidecar for what is different in ${paths.join(', ')}.`, { paths })
    } else
      for (const { path, reason, remedy } of reading.problems)
        log.error('config-not-reloaded', `${path}: ${reason}. ${remedy} Until then everything stays as it is.`, {
          path,
        })
    await reloadTls()
  }
}

const TAKEN_UP: ReadonlySet<string> = new Set(['stations.reserved', 'stations.blockedSenders'])

/** The paths of the members in which two configurations, which have the same ones, are not alike. */
function differences(one: unknown, other: unknown, steps: readonly string[]): readonly string[] {
  if (isTable(one) && isTable(other))
    return Object.keys(one).flatMap((name) => differences(one[name], other[name], [...steps, name]))
  return JSON.stringify(one) === JSON.stringify(other) ? [] : [jsonPath(steps)]
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
