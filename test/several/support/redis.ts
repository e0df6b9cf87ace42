import { findDebianProgram } from '../../idps/support/debian-packages.ts'
import { createFolder } from '../../support/file-folder.ts'
import { freePort } from '../../support/host-process.ts'
import { startProgram } from '../../support/started-program.ts'

/** A Redis server of its own, on loopback, in memory. */
export interface Redis {
  readonly address: string
  stop(): Promise<void>
}

/** @returns the reason as a string if Redis cannot start */
export async function startRedis(): Promise<Redis | string> {
  const program = await findDebianProgram('redis', ['redis-server'])
  if (typeof program === 'string') return program
  const { path, remove } = await createFolder('mesh-companion-redis')
  const port = await freePort()
  const options = ['--bind', '127.0.0.1', '--port', String(port), '--dir', path, '--save', '', '--appendonly', 'no']
  const ready = /Ready to accept connections/
  const { stop } = await startProgram(program.command, options, { env: program.env, ready })
  return { address: `redis://127.0.0.1:${port}`, stop: () => stop().then(remove) }
}
