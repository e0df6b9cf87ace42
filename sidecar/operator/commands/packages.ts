import { createRequire } from 'node:module'

/**
 * Packages that only the sidecar needs. They are `optionalDependencies`, so that a server that only needs single
 * sign-on can be installed without them. npm silently leaves out an optional package that cannot be built.
 */
const NEEDED = ['firebase-admin', 'google-auth-library', 'node-apn', 'node-cron', 'prom-client', 'sqlite3', 'web-push']

/** The error if packages that the sidecar needs are not installed. */
export class PackagesMissingError extends Error {
  override readonly name = 'PackagesMissingError'
  readonly code = 'packages_missing'
  /** Instructions for the operator. */
  readonly remedy =
    'Run "npm install --include=optional" where mesh-companion is installed. npm silently leaves out packages that cannot be built: sqlite3 may need python3, make and a C++ compiler.'

  constructor(names: readonly string[]) {
    super(`The sidecar needs packages that are not installed: ${names.join(', ')}.`)
  }
}

const resolvePackage = createRequire(import.meta.url).resolve

/**
 * Throws if packages that the sidecar needs are not installed. Call it before importing any module that uses them.
 *
 * @throws {PackagesMissingError} with the names of all missing packages
 */
export function demandPackages(): void {
  const missing = NEEDED.filter((name) => !isInstalled(name))
  if (missing.length > 0) throw new PackagesMissingError(missing)
}

function isInstalled(name: string): boolean {
  try {
    resolvePackage(name)
    return true
  } catch {
    return false
  }
}
