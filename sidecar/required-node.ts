/**
 * Ends the process on import if its Node.js is too old. Commands load this before any other module, since those fail at
 * their imports then. So it imports nothing, and its syntax is that of Node.js 14.
 */

/** The oldest version that runs this package, as `engines` in package.json says. */
const REQUIRED = { major: 20, minor: 19 }
/** By sysexits.h: as for a wrong configuration, a service manager does not start it again. */
const EXIT_CONFIG = 78

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < REQUIRED.major || (major === REQUIRED.major && minor < REQUIRED.minor)) {
  process.stderr.write(
    `mesh-companion needs Node.js ${REQUIRED.major}.${REQUIRED.minor} or newer, and this is Node.js ${process.versions.node}: install a newer one, for example from https://nodejs.org/.\n`,
  )
  process.exit(EXIT_CONFIG)
}
