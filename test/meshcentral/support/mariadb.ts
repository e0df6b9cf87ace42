import { join } from 'node:path'
import { freePort } from '../../../fixtures/free-port.ts'
import { unpackPackages } from '../../idps/support/debian-packages.ts'
import { scratchFor } from '../../idps/support/scratch.ts'
import { createFolder } from '../../support/file-folder.ts'
import { startProgram } from '../../support/started-program.ts'

export interface MariaDb {
  /** The server trusts every client on this port. */
  readonly port: number
  close(): Promise<void>
}

/**
 * Starts Debian's MariaDB on loopback with Debian's settings. Its data is deleted at the end. @returns the reason as a
 * string if it cannot start
 */
export async function startMariaDb(): Promise<MariaDb | string> {
  const unpacked = await unpackPackages(await scratchFor('mariadb'), ['mariadb-server-core'])
  if (unpacked.kind === 'missing') return unpacked.reason
  const usr = join(unpacked.root, 'usr')
  const { path: data, remove } = await createFolder('mariadb')
  const port = await freePort()
  const words = [
    ...['--no-defaults', '--user=root', '--skip-grant-tables', `--datadir=${data}`, `--socket=${join(data, 'socket')}`],
    ...['--bind-address=127.0.0.1', `--port=${port}`, `--lc-messages-dir=${join(usr, 'share/mysql/english')}`],
    ...['--character-set-server=utf8mb4', '--collation-server=utf8mb4_general_ci'],
    ...[`--character-sets-dir=${join(usr, 'share/mysql/charsets')}`, '--innodb-flush-log-at-trx-commit=2'],
  ]
  const env = { LD_LIBRARY_PATH: join(usr, 'lib', machine()) }
  const started = startProgram(join(usr, 'sbin/mariadbd'), words, { env, ready: /ready for connections/ })
  return started.then(
    ({ stop }) => ({ port, close: () => stop().then(remove) }),
    ({ message }: Error) => remove().then(() => message),
  )
}

/** Returns the machine's name in Debian's library paths. */
function machine(): string {
  return process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'
}
