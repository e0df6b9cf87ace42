import { alone, inTurn, type Measurement, median } from './measurement.ts'
import { startProgram } from './program.ts'

const COUNTS = [100, 20_000]
const ROUNDS = 7
const CALLS = 200

/**
 * Measures the cost of a stranger's request to the front-channel logout address, with different numbers of sessions in
 * the store of express-session.
 */
export async function frontchannelBench(): Promise<readonly Measurement[]> {
  const idp = await startProgram<typeof import('./login-idp.ts')>('login-idp.ts')
  try {
    const issuer = await idp.call('open', 0)
    const rows: Measurement[] = []
    for (const count of COUNTS) {
      const server = await startProgram<typeof import('./frontchannel-server.ts')>('frontchannel-server.ts')
      try {
        await server.call('start', issuer, count)
        // Warms up the server, which has just started.
        await server.call('callAsStranger', CALLS)
        const rounds = await inTurn(ROUNDS, () => server.call('callAsStranger', CALLS))
        rows.push(alone(`frontchannel.${count}`, 'us CPU', median(rounds)))
      } finally {
        await server.close()
      }
    }
    return rows
  } finally {
    await idp.close()
  }
}
