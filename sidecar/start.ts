import type { Clock } from './clock.ts'
import type { Sidecar } from './compose.ts'
import type { Settings } from './config/settings.ts'
import type { Log } from './log.ts'
import { demandPackages } from './operator/commands/packages.ts'

/**
 * Starts a sidecar. Resolves once the API and the operator's port are listening, even if APRS-IS is unreachable.
 * Rejects if the database, a push gateway's files, a port or the certificate cannot be used, and closes what it opened.
 *
 * Importing this file does not require the packages that only the sidecar needs.
 *
 * @throws PackagesMissingError if packages that the sidecar needs are not installed
 */
export async function startSidecar(settings: Settings, log: Log, clock?: Clock): Promise<Sidecar> {
  demandPackages()
  // `compose.ts` is imported after the check, because it loads the packages that the check looks for.
  const compose = await import('./compose.ts')
  return compose.startSidecar(settings, log, clock)
}
