import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../../../fixtures/free-port.ts'
import { unpackPackages } from '../../idps/support/debian-packages.ts'
import { scratchFor } from '../../idps/support/scratch.ts'

export interface MariaDb {
  /** It takes whoever comes there for whom they say they are. */
  readonly port: number
  close(): Promise<void>
}

/** A MariaDB of Debian, as that configures it, on loopback. Its data goes with it. @returns why it cannot be had, as text */
export async function startMariaDb(): Promise<MariaDb | string> {
  const unpacked = await unpackPackages(await scratchFor('mariadb'), ['mariadb-server-core'])
  if (unpacked.kind === 'missing') return unpacked.reason
  const usr = join(unpacked.root, 'usr')
  const data = await mkdtemp(join(tmpdir(), 'mariadb-'))
  const port = await freePort()
  const words = [
    ...['--no-defaults', '--user=root', '--skip-grant-tables', `--datadir=${data}`, `--socket=${join(data, 'socket')}`],
    ...['--bind-address=127.0.0.1', `--port=${port}`, `--lc-messages-dir=${join(usr, 'share/mysql/english')}`],
    ...['--character-set-server=utf8mb4', '--collation-server=utf8mb4_general_ci'],
    ...[`--character-sets-dir=${join(usr, 'share/mysql/charsets')}`, '--innodb-flush-log-at-trx-commit=2'],
  ]
  const env = { ...process.env, LD_LIBRARY_PATH: join(usr, 'lib', machine()) }
  const child = spawn(join(usr, 'sbin/mariadbd'), words, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const abandon = () => {
    child.kill('SIGKILL')
    rmSync(data, { recursive: true, force: true })
  }
  process.once('exit', abandon)
  const ended = once(child, 'close')
  const lines: string[] = []
  const ready = new Promise<true>((resolve) => {
    createInterface(child.stderr).on('line', (line) => {
      if (lines.length < 100) lines.push(line)
      if (line.includes('ready for connections')) resolve(true)
    })
  })
  const close = async () => {
    abandon()
    await ended
    process.off('exit', abandon)
  }
  if (await Promise.race([ready, ended.then(() => false)])) return { port, close }
  await close()
  return `MariaDB ended at its start: ${lines.at(-1)}`
}

/** As Debian calls it in the paths of libraries. */
function machine(): string {
  return process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'
}
