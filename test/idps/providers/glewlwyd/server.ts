import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { foldersBelow } from '../../support/debian-packages.ts'

/** The program as unpacked from Debian's package. */
export interface Program {
  readonly version: string
  readonly path: string
  readonly environment: Readonly<Record<string, string>>
  /** The folder of its modules. `pages` is that of its pages. */
  readonly modules: string
  readonly pages: string
  /** SQL that creates an empty installation. */
  readonly schema: string
}

export async function findProgram(root: string): Promise<Program> {
  const path = join(root, 'usr/bin/glewlwyd')
  const environment = { LD_LIBRARY_PATH: (await foldersBelow(root, 'usr/lib/*')).join(':') }
  const { stdout } = await promisify(execFile)(path, ['-v'], { env: { ...process.env, ...environment } })
  const packed = await readFile(join(root, 'usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz'))
  return {
    version: stdout.trim(),
    path,
    environment,
    modules: join(root, 'usr/lib/glewlwyd'),
    pages: join(root, 'usr/share/glewlwyd/webapp'),
    schema: (await promisify(gunzip)(packed)).toString(),
  }
}

/** Writes the configuration file of one server process. @returns the file */
export async function writeConfiguration(
  folder: string,
  program: Program,
  url: string,
  tls?: { readonly key: string; readonly cert: string; readonly ca: string },
): Promise<string> {
  const { port, origin, protocol } = new URL(url)
  await mkdir(join(folder, 'middleware'), { recursive: true })
  const text = [
    `port=${port}`,
    'bind_address="127.0.0.1"',
    `external_url="${origin}"`,
    'login_url="login.html"',
    'api_prefix="api"',
    `static_files_path="${program.pages}"`,
    'static_files_mime_types = ( { extension = ".html" mime_type = "text/html" compress = 0 } )',
    'log_mode="console"',
    'log_level="WARNING"',
    'cookie_domain="localhost"',
    'cookie_secure=0',
    'session_key="GLEWLWYD2_SESSION_ID"',
    'allow_multiple_user_per_session=true',
    'login_api_enabled=true',
    'admin_scope="g_admin"',
    'profile_scope="g_profile"',
    `user_module_path="${program.modules}/user"`,
    // An empty folder: there is no middleware.
    `user_middleware_module_path="${join(folder, 'middleware')}"`,
    `client_module_path="${program.modules}/client"`,
    `user_auth_scheme_module_path="${program.modules}/scheme"`,
    `plugin_module_path="${program.modules}/plugin"`,
    'hash_algorithm = "SHA512"',
    `database = { type = "sqlite3" path = "${join(folder, 'glewlwyd.db')}" };`,
    ...(tls
      ? [
          'use_secure_connection=true',
          `secure_connection_key_file="${tls.key}"`,
          `secure_connection_pem_file="${tls.cert}"`,
          `secure_connection_ca_file="${tls.ca}"`,
        ]
      : []),
    '',
  ].join('\n')
  const file = join(folder, `${protocol.slice(0, -1)}.conf`)
  await writeFile(file, text, { mode: 0o600 })
  return file
}
