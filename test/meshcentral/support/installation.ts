import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { cp, mkdtemp, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** The older one of the two versions that the package is tested with. */
export const OLDER_VERSION = '1.1.51'

/** What MeshCentral would install by itself at its start because of an `oidc` object, and of each kind of database. */
const PACKAGES = [
  ...['passport@0.7.0', 'connect-flash@0.1.1', 'openid-client@5.7.1'],
  ...['mongodb@4.17.2', '@mongodb-js/saslprep@1.3.1', 'pg@8.16.3', 'mariadb@3.4.5', 'mysql2@3.15.1', 'sqlite3@5.1.7'],
  'acebase@1.29.5',
]
/** Of the package `sqlite3`, which `npm ci` has built here: the same for each version that is of use. */
const SQLITE = 'build/Release/node_sqlite3.node'
/** Of the download. */
export const INSTALL_LIMIT_MS = 300_000

/**
 * The real MeshCentral from the registry, in a scratch folder of its own, since it rewrites the `node_modules` that it
 * lies in. The folder goes with this process. `MESHCENTRAL_FOLDER` names an installation that is there already, which
 * is used and left as it is, and `MESHCENTRAL_OLDER_FOLDER` one of the older version.
 *
 * @returns the folder
 */
export async function installMeshCentral(version = '1.1.55'): Promise<string> {
  const given = process.env[version === OLDER_VERSION ? 'MESHCENTRAL_OLDER_FOLDER' : 'MESHCENTRAL_FOLDER']
  if (given !== undefined && given !== '') {
    await stat(join(given, 'node_modules/meshcentral/meshcentral.js'))
    return given
  }
  const folder = await mkdtemp(join(tmpdir(), 'meshcentral-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'package.json'), '{"name":"scratch","version":"1.0.0","private":true}')
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', '--loglevel=error']
  await promisify(execFile)('npm', ['install', ...options, `meshcentral@${version}`, ...PACKAGES], {
    cwd: folder,
    timeout: INSTALL_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  const own = createRequire(import.meta.url).resolve('sqlite3/package.json')
  await cp(join(dirname(own), SQLITE), join(folder, 'node_modules/sqlite3', SQLITE), { recursive: true })
  return folder
}

/** Once before all files of a run, for the processes that they run in: they are told by their environment. */
export async function mochaGlobalSetup(): Promise<void> {
  const [latest, older] = await Promise.all([installMeshCentral(), installMeshCentral(OLDER_VERSION)])
  Object.assign(process.env, { MESHCENTRAL_FOLDER: latest, MESHCENTRAL_OLDER_FOLDER: older })
}
