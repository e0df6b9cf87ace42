import { Agent, get } from 'node:https'
import { freePort } from '../../fixtures/free-port.ts'
import { type MeshSetup, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { beside, type Measurement, medians, takeTurns } from './measurement.ts'
import { usageOf } from './process-usage.ts'

const ROUNDS = 11
const REQUESTS = 20
/**
 * As long as Node.js takes an address. Dots are what a name with an ending is known by, and a slash at the end says
 * that it is none.
 */
const PATHS = { short: 'a/', dots: `${'.'.repeat(15_000)}/`, letters: `${'a'.repeat(15_000)}/` }
/**
 * Of a session that the server did not sign. Its answer takes the cookie away, and only answers that set one are looked
 * at.
 */
const COOKIE = 'xid=e30=; xid.sig=of-nobody'
const PEER = 'built-in'

/** The cost of a stranger's request with a path of 15 KB, and one with a short path beside it. */
export async function meshStrangersBench(): Promise<readonly Measurement[]> {
  const open: MeshSetup[] = []
  const side = async (strategy: 'ours' | 'built-in') => {
    const setup = await setUpMesh({ strategy, port: await freePort() })
    open.push(setup)
    return setup
  }
  try {
    const [product, peer] = [await side('ours'), await side('built-in')]
    const rows: Measurement[] = []
    for (const [name, path] of Object.entries(PATHS)) {
      const run = (setup: MeshSetup) => async () => {
        const usage = usageOf(setup.server().pid)
        const usageBefore = usage.cpuMicroseconds()
        await ask(setup, path)
        return { cpu: (usage.cpuMicroseconds() - usageBefore) / REQUESTS }
      }
      // The first ones are of a server that has just started.
      await run(product)()
      await run(peer)()
      const results = await takeTurns(ROUNDS, { ours: run(product), peer: run(peer) })
      rows.push(beside(`stranger.path.${name}`, 'us CPU', medians(results, 'cpu'), PEER, 'less'))
    }
    return rows
  } finally {
    for (const setup of open) await setup.close()
  }
}

/** One request after the other. */
async function ask({ url }: MeshSetup, path: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  for (let remaining = REQUESTS; remaining > 0; remaining--) {
    const to = new URL(url)
    const options = {
      agent,
      host: '127.0.0.1',
      port: to.port,
      path: `/x/${path}`,
      headers: { host: to.host, cookie: COOKIE },
    }
    await new Promise<void>((resolve, reject) => {
      get(options, (response) => response.resume().on('end', resolve).on('error', reject)).on('error', reject)
    })
  }
  agent.destroy()
}
