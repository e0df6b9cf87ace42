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
  /** Has it read its file anew. */
  reload(ini: string): Promise<void>
  stop(): Promise<void>
}

/** Fetches it from Debian, where that was not done yet. */
export const unpackPgBouncer = async (): Promise<Unpacked> =>
  unpackPackages(await scratchFor('pgbouncer'), ['pgbouncer'])

/** Starts it below the folder that stands for `/`, on loopback and a free port. `ini` is its file, with PORT, USERS and no place for sockets. */
export async function startPgBouncer(root: string, users: string, ini: string): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-pgbouncer-'))
  const port = await freePort()
  const [file, list] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')]
  const write = (text: string) =>
    writeFile(file, text.replace('PORT', String(port)).replace('USERS', list), { mode: 0o644 })
  await chmod(folder, 0o755)
  await writeFile(list, users, { mode: 0o644 })
  await write(ini)
  const libraries = await foldersBelow(root, 'usr/lib/*')
  // It refuses to run as root.
  const user = userInfo().uid === 0 ? { uid: await idOf('-u'), gid: await idOf('-g') } : {}
  const child: ChildProcess = spawn(join(root, 'usr/sbin/pgbouncer'), [file], {
    ...user,
    env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  let onLine: (() => void) | undefined
  createInterface(child.stderr ?? process.stdin).on('line', (line) => {
    lines.push(line)
    onLine?.()
  })
  const ended = once(child, 'close')
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  /** Resolves with the next line that has these words, or rejects with what it said when it ends instead. */
  const says = (words: string, from = lines.length) =>
    Promise.race([
      new Promise<void>((resolve) => {
        onLine = () => lines.slice(from).some((line) => line.includes(words)) && resolve()
        onLine()
      }),
      ended.then((): never => {
        throw new Error(`PgBouncer ended: ${lines.join('\n')}`)
      }),
    ])
  await says('process up', 0)
  return {
    port,
    async reload(text) {
      await write(text)
      const said = says('re-reading config')
      child.kill('SIGHUP')
      await said
    },
    async stop() {
      process.off('exit', abandon)
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const idOf = async (which: string) => Number((await run('id', [which, 'nobody'])).stdout)
