/**
 * Exits the process on import if its Node.js is too old. Commands load it first, so it imports nothing and uses only
 * the syntax of Node.js 14.
 */

/** The oldest supported version, as in `engines` of package.json. */
const REQUIRED = { major: 20, minor: 19 }
/**
 * The exit code for a wrong configuration (`EX_CONFIG` of sysexits.h). Service managers can be told not to restart a
 * process that exits with it.
 */
const EXIT_CONFIG = 78

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < REQUIRED.major || (major === REQUIRED.major && minor < REQUIRED.minor)) {
  process.stderr.write(
    `mesh-companion needs Node.js ${REQUIRED.major}.${REQUIRED.minor} or newer, and this is Node.js ${process.versions.node}: install a newer one, for example from https://nodejs.org/.\n`,
  )
  process.exit(EXIT_CONFIG)
}
