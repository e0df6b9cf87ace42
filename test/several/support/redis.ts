import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { foldersBelow, unpackPackages } from '../../idps/support/debian-packages.ts'
import { scratchFor } from '../../idps/support/scratch.ts'
import { freePort } from '../../support/host-process.ts'

/** A Redis server of its own, on loopback, in memory. */
export interface Redis {
  readonly address: string
  stop(): Promise<void>
}

/** @returns why there can be none, as a text */
export async function startRedis(): Promise<Redis | string> {
  const found = await findServer()
  if (typeof found === 'string') return found
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-redis-'))
  const port = await freePort()
  const options = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no']
  const child = spawn(found.command, options, { env: { ...process.env, ...found.env } })
  const ended = once(child, 'close')
  await ready(child, ended)
  return {
    address: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Found {
  readonly command: string
  readonly env: Readonly<Record<string, string>>
}

/** That of the machine, or else Debian's, unpacked beside the system. */
async function findServer(): Promise<Found | string> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const command = join(folder, 'redis-server')
    const isThere = await access(command).then(
      () => true,
      () => false,
    )
    if (isThere) return { command, env: {} }
  }
  const unpacked = await unpackPackages(await scratchFor('redis'), ['redis-server'])
  if (unpacked.kind === 'missing') return unpacked.reason
  const libraries = await foldersBelow(unpacked.root, 'usr/lib/*')
  return {
    command: join(unpacked.root, 'usr/bin/redis-server'),
    env: { LD_LIBRARY_PATH: libraries.join(delimiter) },
  }
}

async function ready(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (!child.stdout) throw new Error('no output')
  const lines: string[] = []
  const isReady = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout ?? process.stdin }).on('line', (line) => {
      lines.push(line)
      if (line.includes('Ready to accept connections')) resolve()
    })
  })
  child.stderr?.on('data', (chunk) => lines.push(String(chunk)))
  const failed = ended.then(() => {
    throw new Error(`Redis does not start: ${lines.join('\n')}`)
  })
  await Promise.race([isReady, failed])
}
