import { startHost } from '../../../fixtures/host/server.ts'
import { openStores } from './stores.ts'

/** Options of a process of the reference host, passed as JSON in its only argument. */
export interface Instance {
  readonly config: unknown
  /** Address of PostgreSQL or Redis. */
  readonly stores: string
  readonly name: string
  /** How far its clock is ahead, in milliseconds. */
  readonly aheadMs: number
}

const { config, stores: address, name, aheadMs } = JSON.parse(process.argv[2] ?? '') as Instance
const clock = Date.now
Date.now = () => clock() + aheadMs

const stores = await openStores(address, name)
const host = await startHost({
  config,
  port: 0,
  cookieName: 'mesh',
  shared: true,
  sessionStore: stores.sessions,
  revocations: stores.revocations,
})
process.stdout.write(`${JSON.stringify({ event: 'serving', port: host.port })}\n`)
process.stdin.resume().on('end', () => process.exit())
