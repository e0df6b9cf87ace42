import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../../fixtures/free-port.ts'
import { type DebianProgram, findDebianProgram } from '../../idps/support/debian-packages.ts'
import { createFolder } from '../../support/file-folder.ts'
import { startProgram } from '../../support/started-program.ts'

const run = promisify(execFile)

export interface PgBouncer {
  readonly port: number
  stop(): Promise<void>
}

/** Fetches it from Debian, where that was not done yet. */
export const findPgBouncer = (): Promise<DebianProgram | string> => findDebianProgram('pgbouncer', ['pgbouncer'])

/**
 * Starts it on loopback and a free port. `ini` is its file, with PORT in it, no place for sockets, and the names of `files`, which lie
 * beside it.
 */
export async function startPgBouncer(
  { command, env }: DebianProgram,
  files: Readonly<Record<string, string>>,
  ini: string,
): Promise<PgBouncer> {
  const { path: folder, remove } = await createFolder('mesh-companion-pgbouncer')
  const port = await freePort()
  await chmod(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(file, ini.replace('PORT', String(port)).replaceAll('/etc/pgbouncer', folder))
  // It refuses to run as root, and then is somebody else, who has to read its key.
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o644 })
  const user = userInfo().uid === 0 ? { uid: await idOf('-u'), gid: await idOf('-g') } : {}
  const { stop } = await startProgram(command, [file], { ...user, env, ready: /process up/ })
  return { port, stop: () => stop().then(remove) }
}

const idOf = async (which: string) => Number((await run('id', [which, 'nobody'])).stdout)
