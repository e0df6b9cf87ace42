import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { freePort } from '../../../fixtures/free-port.ts'
import { foldersBelow, type Unpacked, unpackPackages } from '../../idps/support/debian-packages.ts'
import { scratchFor } from '../../idps/support/scratch.ts'

const run = promisify(execFile)

export interface PgBouncer {
  readonly port: number
  stop(): Promise<void>
}

/** Fetches it from Debian, where that was not done yet. */
export const unpackPgBouncer = async (): Promise<Unpacked> =>
  unpackPackages(await scratchFor('pgbouncer'), ['pgbouncer'])

/**
 * Starts it below the folder that stands for `/`, on loopback and a free port. `ini` is its file, with PORT in it, no place for sockets, and
 * the names of `files`, which lie beside it.
 */
export async function startPgBouncer(
  root: string,
  files: Readonly<Record<string, string>>,
  ini: string,
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-pgbouncer-'))
  const port = await freePort()
  await chmod(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(file, ini.replace('PORT', String(port)).replaceAll('/etc/pgbouncer', folder))
  // It refuses to run as root, and then is somebody else, who has to read its key.
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o644 })
  const libraries = await foldersBelow(root, 'usr/lib/*')
  const user = userInfo().uid === 0 ? { uid: await idOf('-u'), gid: await idOf('-g') } : {}
  const child: ChildProcess = spawn(join(root, 'usr/sbin/pgbouncer'), [file], {
    ...user,
    env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  const ended = once(child, 'close')
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  await Promise.race([
    new Promise<void>((resolve) => {
      createInterface(child.stderr ?? process.stdin).on('line', (line) => {
        lines.push(line)
        if (line.includes('process up')) resolve()
      })
    }),
    ended.then((): never => {
      throw new Error(`PgBouncer ended: ${lines.join('\n')}`)
    }),
  ])
  return {
    port,
    async stop() {
      process.off('exit', abandon)
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const idOf = async (which: string) => Number((await run('id', [which, 'nobody'])).stdout)
