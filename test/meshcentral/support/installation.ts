import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { cp, mkdtemp, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** The newer of the two versions that the package is tested with. */
export const LATEST_VERSION = '1.1.55'
/** The older of the two versions that the package is tested with. */
export const OLDER_VERSION = '1.1.51'

/**
 * The packages that MeshCentral would install at its start: for second factors, an `oidc` object, LDAP, each
 * kind of database, and a proxy in `HTTPS_PROXY`.
 */
const PACKAGES = [
  ...['otplib@12.0.1', 'ldapauth-fork@5.0.5'],
  ...['passport@0.7.0', 'connect-flash@0.1.1', 'openid-client@5.7.1'],
  ...['mongodb@4.17.2', '@mongodb-js/saslprep@1.3.1', 'pg@8.16.3', 'mariadb@3.4.5', 'mysql2@3.15.1', 'sqlite3@5.1.7'],
  ...['acebase@1.29.5', 'https-proxy-agent@7.0.6'],
]
/** The binary of the package `sqlite3`, which `npm ci` has built here. It fits every version of the package. */
const SQLITE = 'build/Release/node_sqlite3.node'
/** The time limit of the download. */
export const INSTALL_LIMIT_MS = 300_000

/**
 * Installs the real MeshCentral from the registry in a scratch folder, because it rewrites its own `node_modules`. The
 * folder is deleted when the process exits. `MESHCENTRAL_FOLDER` names an existing installation, which stays unchanged,
 * and `MESHCENTRAL_OLDER_FOLDER` one of the older version.
 *
 * @returns the folder
 */
export async function installMeshCentral(version: string = LATEST_VERSION): Promise<string> {
  const configured = process.env[version === OLDER_VERSION ? 'MESHCENTRAL_OLDER_FOLDER' : 'MESHCENTRAL_FOLDER']
  if (configured !== undefined && configured !== '') {
    await stat(join(configured, 'node_modules/meshcentral/meshcentral.js'))
    return configured
  }
  const folder = await mkdtemp(join(tmpdir(), 'meshcentral-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await installInto(folder, version)
  return folder
}

/** Installs MeshCentral and the packages that it would add at its start. Needs the registry. */
export async function installInto(folder: string, version: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{"name":"scratch","version":"1.0.0","private":true}')
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', '--loglevel=error']
  await promisify(execFile)('npm', ['install', ...options, `meshcentral@${version}`, ...PACKAGES], {
    cwd: folder,
    timeout: INSTALL_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  const manifest = createRequire(import.meta.url).resolve('sqlite3/package.json')
  await cp(join(dirname(manifest), SQLITE), join(folder, 'node_modules/sqlite3', SQLITE), { recursive: true })
}

/** Installs once before all files of a run. The processes of the files learn the folders by their environment. */
export async function mochaGlobalSetup(): Promise<void> {
  const [latest, older] = await Promise.all([installMeshCentral(), installMeshCentral(OLDER_VERSION)])
  Object.assign(process.env, { MESHCENTRAL_FOLDER: latest, MESHCENTRAL_OLDER_FOLDER: older })
}
