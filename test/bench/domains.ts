import { alone, type Measurement, medianOf, untilSteady } from './measurement.ts'
import { startProgram } from './program.ts'

const MOST_STARTS = 7
const DOMAINS = 1000

/**
 * Measures the cost of many domains with one IdP: CPU time and resident memory until 1,000 domains are registered and
 * discovered. Each start is in a new process.
 */
export async function domainsBench(): Promise<readonly Measurement[]> {
  const idp = await startProgram<typeof import('./login-idp.ts')>('login-idp.ts')
  try {
    const issuer = await idp.call('open', 0)
    const { starts } = await untilSteady(MOST_STARTS, 'cpuMs', {
      starts: async () => {
        const program = await startProgram<typeof import('./domains-start.ts')>('domains-start.ts')
        return program.call('start', issuer, DOMAINS).finally(program.close)
      },
    })
    return [
      alone('start.domains', 'ms CPU', medianOf(starts, 'cpuMs')),
      alone('start.domains.rss', 'MB', medianOf(starts, 'megabytes').value),
    ]
  } finally {
    await idp.close()
  }
}
