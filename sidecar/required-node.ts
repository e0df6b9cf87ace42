/**
 * Ends the process on import if its Node.js is too old for the other modules. So it must run on Node.js 14, and import
 * nothing.
 */

/** The oldest version of Node.js that runs this package, as in `engines` of package.json. */
const REQUIRED = { major: 20, minor: 19 }
/**
 * `EX_CONFIG` of sysexits.h, as for a wrong configuration. The systemd unit does not restart a process that ends with
 * this code.
 */
const EXIT_CONFIG = 78

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < REQUIRED.major || (major === REQUIRED.major && minor < REQUIRED.minor)) {
  process.stderr.write(
    `mesh-companion needs Node.js ${REQUIRED.major}.${REQUIRED.minor} or newer, and this is Node.js ${process.versions.node}: install a newer one, for example from https://nodejs.org/.\n`,
  )
  process.exit(EXIT_CONFIG)
}
