import { createRequire } from 'node:module'

/**
 * The packages that only the sidecar needs, with their versions. They are optional peer dependencies, so that a server
 * with only single sign-on, or an app with only the client, need not install 300 packages and compile C++ code.
 */
const NEEDED: Readonly<Record<string, string>> = {
  'firebase-admin': '13',
  flatqueue: '3',
  'google-auth-library': '10',
  // The maintained fork.
  'node-apn': 'npm:@parse/node-apn@8',
  'node-cron': '4',
  'prom-client': '15',
  sqlite3: '6',
  'web-push': '3',
}

/** The error if packages that the sidecar needs are not installed. */
export class PackagesMissingError extends Error {
  override readonly name = 'PackagesMissingError'
  readonly code = 'packages_missing'
  /** Instructions for the operator. */
  readonly remedy: string

  constructor(names: readonly string[]) {
    super(`The sidecar needs packages that are not installed: ${names.join(', ')}.`)
    const versions = names.map((name) => `${name}@${NEEDED[name]}`).join(' ')
    this.remedy = `Run "npm install ${versions}" where mesh-companion is installed. If npm cannot fetch the binary of sqlite3, it compiles it, which needs python3, make and a C++ compiler. The package that "npm run pack:sidecar" makes has all of them.`
  }
}

const resolvePackage = createRequire(import.meta.url).resolve

/**
 * Checks that the sidecar's packages are installed. Call before importing modules that use them.
 *
 * @throws {PackagesMissingError} names all missing packages
 */
export function demandPackages(): void {
  const missing = Object.keys(NEEDED).filter((name) => !isInstalled(name))
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
