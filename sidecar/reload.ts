import type { Reading } from './config/read.ts'
import type { Log } from './log.ts'
import type { CallLists } from './messages/call-rules.ts'

interface ReloadParts {
  readonly changeCalls: (lists: CallLists) => void
  readonly reloadTls: () => Promise<void>
  readonly log: Log
}

/**
 * Takes up what changes without a restart: the lists of calls in the configuration, and a renewed certificate. A configuration with
 * mistakes changes nothing, and each of them is logged; so is a certificate that is no good. Never rejects.
 */
export function reloadBy({ changeCalls, reloadTls, log }: ReloadParts): (reading: Reading) => Promise<void> {
  return async (reading) => {
    if ('settings' in reading) changeCalls(reading.settings.stations)
    else
      for (const { path, reason, remedy } of reading.problems)
        log.error('config-not-reloaded', `${path}: ${reason}. ${remedy} Until then everything stays as it is.`, {
          path,
        })
    await reloadTls()
  }
}
