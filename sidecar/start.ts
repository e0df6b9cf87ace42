import type { Clock } from './clock.ts'
import type { Sidecar } from './compose.ts'
import type { Settings } from './config/settings.ts'
import type { Log } from './log.ts'
import { demandPackages } from './operator/commands/packages.ts'

/**
 * Starts a sidecar. Resolves once the API and the operator's port are listening; APRS-IS may still be unreachable then.
 * If the database, a push gateway's files, a port or the certificate cannot be used, it closes everything that it has
 * opened, and rejects.
 *
 * This file can be imported without the packages that only the sidecar needs.
 *
 * @throws PackagesMissingError if the package was installed without the packages that the sidecar needs
 */
export async function startSidecar(settings: Settings, log: Log, clock?: Clock): Promise<Sidecar> {
  demandPackages()
  // Imported only after the check, because it loads the database library and other packages.
  const compose = await import('./compose.ts')
  return compose.startSidecar(settings, log, clock)
}
