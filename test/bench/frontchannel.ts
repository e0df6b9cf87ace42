import { alone, beside, type Measurement, medianOf, medians, untilSteady } from './measurement.ts'
import { type Program, startProgram } from './program.ts'

const [FEW, MANY] = [100, 20_000]
const MOST_WINDOWS = 10
const CALLS = 200
/**
 * The long paths are nearly as long as Node.js accepts. Dots suggest a file name with an extension, but the slash at
 * the end rules that out.
 */
const PATHS = { short: 'a/', dots: `${'.'.repeat(15_000)}/`, letters: `${'a'.repeat(15_000)}/` }
const PEER = 'the same server without the plugin'

type Server = Program<typeof import('./frontchannel-server.ts')>

/**
 * Measures the CPU time of a stranger's requests in an Express server, with that of the client, which runs in the same
 * process.
 *
 * - `frontchannel.N`: a call of the front-channel logout address, with N sessions in the store of express-session.
 * - `stranger.path.…`: a request with a session cookie with a wrong signature, and with a path of 15 KB or a short one.
 */
export async function frontchannelBench(): Promise<readonly Measurement[]> {
  const idp = await startProgram<typeof import('./login-idp.ts')>('login-idp.ts')
  const servers: Server[] = []
  try {
    const issuer = await idp.call('open', 0)
    const startServer = async (sessions: number | null) => {
      const server: Server = await startProgram('frontchannel-server.ts')
      servers.push(server)
      await server.call('start', issuer, sessions)
      return server
    }
    const [few, many, bare] = [await startServer(FEW), await startServer(MANY), await startServer(null)]
    const calls = (server: Server) => async () => ({ cpuUs: await server.call('callAsStranger', CALLS) })
    const logouts = await untilSteady(MOST_WINDOWS, 'cpuUs', { few: calls(few), many: calls(many) })
    const rows = [
      alone(`frontchannel.${FEW}`, 'µs CPU', medianOf(logouts.few, 'cpuUs')),
      alone(`frontchannel.${MANY}`, 'µs CPU', medianOf(logouts.many, 'cpuUs')),
    ]
    for (const [name, path] of Object.entries(PATHS)) {
      const asks = (server: Server) => async () => ({ cpuUs: await server.call('askAsStranger', CALLS, path) })
      const turns = await untilSteady(MOST_WINDOWS, 'cpuUs', { ours: asks(few), peer: asks(bare) })
      rows.push(beside(`stranger.path.${name}`, 'µs CPU', medians(turns, 'cpuUs'), PEER, 'less'))
    }
    return rows
  } finally {
    for (const server of servers) await server.close()
    await idp.close()
  }
}
