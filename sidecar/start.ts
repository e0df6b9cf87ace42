import type { Clock } from './clock.ts'
import type { Sidecar } from './compose.ts'
import type { Settings } from './config/settings.ts'
import type { Log } from './log.ts'
import { demandPackages } from './operator/commands/packages.ts'

/**
 * Starts a sidecar. Resolves once the API and the operator's port serve; APRS-IS may still be unreachable then. If a
 * part cannot start (the database, the files of a push gateway, a port, the certificate), it closes everything that it
 * has opened, and rejects.
 *
 * Importing this file needs none of the packages that only the sidecar uses.
 *
 * @throws PackagesMissingError if the package was installed without the packages that the sidecar needs
 */
export async function startSidecar(settings: Settings, log: Log, clock?: Clock): Promise<Sidecar> {
  demandPackages()
  // Imported after the check, because this loads the database library and more.
  const compose = await import('./compose.ts')
  return compose.startSidecar(settings, log, clock)
}
