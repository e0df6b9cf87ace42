import type { DomainsStart, StartOrder } from './domains-start.ts'
import type { IdpOrder } from './login-idp.ts'
import { alone, inTurn, type Measurement, median } from './measurement.ts'
import { startProgram } from './program.ts'

const ROUNDS = 5
const DOMAINS = 1000

/**
 * What many domains at one IdP cost: CPU and resident memory of a registration of 1,000, from the call until the last one is discovered, in
 * a new process each time.
 */
export async function domainsBench(): Promise<readonly Measurement[]> {
  const idp = await startProgram('login-idp.ts')
  try {
    const { issuer } = await idp.ask<{ issuer: string }>({ kind: 'open', latencyMs: 0 } satisfies IdpOrder)
    const starts = await inTurn(ROUNDS, async () => {
      const program = await startProgram('domains-start.ts')
      const order: StartOrder = { issuer, domains: DOMAINS }
      return program.ask<DomainsStart>(order).finally(program.close)
    })
    return [
      alone('start.domains', 'ms CPU', median(starts.map(({ cpuMs }) => cpuMs))),
      alone('start.domains.rss', 'MB', median(starts.map(({ megabytes }) => megabytes))),
    ]
  } finally {
    await idp.close()
  }
}
