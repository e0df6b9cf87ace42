import { createRequire } from 'node:module'

/**
 * What the sidecar needs beside what both halves do: `optionalDependencies` of the package, so that single sign-on
 * alone comes without them. npm also leaves out, without a word, one of them that cannot be built.
 */
const NEEDED = ['firebase-admin', 'google-auth-library', 'node-apn', 'node-cron', 'prom-client', 'sqlite3', 'web-push']

/** Packages that the sidecar needs are not installed. */
export class PackagesMissingError extends Error {
  override readonly name = 'PackagesMissingError'
  readonly code = 'packages_missing'
  /** What the operator should do, in a sentence or two. */
  readonly remedy =
    'Run "npm install --include=optional" where mesh-companion is installed. What cannot be built is left out without a word: sqlite3 may need python3, make and a C++ compiler.'

  constructor(names: readonly string[]) {
    super(`The sidecar needs packages that are not installed: ${names.join(', ')}.`)
  }
}

const find = createRequire(import.meta.url).resolve

/** @throws PackagesMissingError naming all of them. To be asked before anything is loaded that imports them. */
export function demandPackages(): void {
  const missing = NEEDED.filter((name) => !isInstalled(name))
  if (missing.length > 0) throw new PackagesMissingError(missing)
}

function isInstalled(name: string): boolean {
  try {
    find(name)
    return true
  } catch {
    return false
  }
}
