import { alone, inTurn, type Measurement, median } from './measurement.ts'
import { startProgram } from './program.ts'

const ROUNDS = 5
const DOMAINS = 1000

/**
 * Measures the cost of many domains with one IdP: CPU time and resident memory until 1,000 domains are registered and
 * discovered. Each round runs in a new process.
 */
export async function domainsBench(): Promise<readonly Measurement[]> {
  const idp = await startProgram<typeof import('./login-idp.ts')>('login-idp.ts')
  try {
    const issuer = await idp.call('open', 0)
    const starts = await inTurn(ROUNDS, async () => {
      const program = await startProgram<typeof import('./domains-start.ts')>('domains-start.ts')
      return program.call('start', issuer, DOMAINS).finally(program.close)
    })
    return [
      alone('start.domains', 'ms CPU', median(starts.map(({ cpuMs }) => cpuMs))),
      alone('start.domains.rss', 'MB', median(starts.map(({ megabytes }) => megabytes))),
    ]
  } finally {
    await idp.close()
  }
}
