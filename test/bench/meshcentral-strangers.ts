import { Agent, get } from 'node:https'
import { freePort } from '../../fixtures/free-port.ts'
import { type MeshSetup, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { beside, type Measurement, medians, takeTurns } from './measurement.ts'
import { usageOf } from './process-usage.ts'

const ROUNDS = 11
const REQUESTS = 20
/**
 * The long paths are nearly as long as Node.js accepts. Dots suggest a file name with an extension, but the slash at
 * the end rules that out.
 */
const PATHS = { short: 'a/', dots: `${'.'.repeat(15_000)}/`, letters: `${'a'.repeat(15_000)}/` }
/**
 * A session cookie with a wrong signature. The server deletes it in its answer, and the plugin only inspects answers
 * that set a cookie.
 */
const COOKIE = 'xid=e30=; xid.sig=of-nobody'
const PEER = 'built-in'

/** Measures the cost of a stranger's request with a path of 15 KB, and of one with a short path. */
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
      // Warms up both servers, which have just started.
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

/** Sends the requests one after the other. */
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
