/**
 * Ends the process on import if its Node.js is too old. Commands load this file before any other module, because the
 * imports of those fail on an old Node.js. So this file imports nothing, and uses the syntax of Node.js 14.
 */

/** The oldest version that runs this package, as `engines` in package.json says. */
const REQUIRED = { major: 20, minor: 19 }
/** `EX_CONFIG` of sysexits.h, as for a wrong configuration: the service manager does not restart the process. */
const EXIT_CONFIG = 78

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < REQUIRED.major || (major === REQUIRED.major && minor < REQUIRED.minor)) {
  process.stderr.write(
    `mesh-companion needs Node.js ${REQUIRED.major}.${REQUIRED.minor} or newer, and this is Node.js ${process.versions.node}: install a newer one, for example from https://nodejs.org/.\n`,
  )
  process.exit(EXIT_CONFIG)
}
