import type { Clock } from './clock.ts'
import type { Sidecar } from './compose.ts'
import type { Settings } from './config/settings.ts'
import type { Log } from './log.ts'
import { demandPackages } from './operator/commands/packages.ts'

/**
 * Starts everything, and resolves once API and operator's port serve; APRS-IS may still be out of reach then. Rejects,
 * with nothing left open, when a part cannot start: the database, a push gateway's files, a port, the certificate.
 * To import this needs nothing that is installed for the sidecar alone.
 *
 * @throws PackagesMissingError where the package was installed without what the sidecar needs
 */
export async function startSidecar(settings: Settings, log: Log, clock?: Clock): Promise<Sidecar> {
  demandPackages()
  // Only now: this loads the database, the counters, and more.
  const compose = await import('./compose.ts')
  return compose.startSidecar(settings, log, clock)
}
