import { Agent, get } from 'node:http'
import type { DomainsStart, StartOrder } from './domains-start.ts'
import type { IdpOrder } from './login-idp.ts'
import type { Party, PartyOrder } from './login-party.ts'
import { alone, alternate, beside, inTurn, type Measurement, median } from './measurement.ts'
import { type Program, startProgram } from './program.ts'

const ROUNDS = 5
const MOST_DOMAINS = 1000
const REQUESTS_A_ROUND = 1000
const CONNECTIONS = 10

/**
 * What many domains at one IdP cost.
 * - `login.domains.N`: CPU of a request that is none of the plugin's, of a visitor who is not signed in, at the reference host with N
 *   domains;
 * - `start.domains`, `start.domains.rss`: CPU and resident memory of a registration of 1,000 domains, from the call until the last one is
 *   discovered, in a new process each time.
 */
export async function domainsBench(): Promise<readonly Measurement[]> {
  const idp = await startProgram('login-idp.ts')
  try {
    const { issuer } = await idp.ask<{ issuer: string }>({ kind: 'open', latencyMs: 0 } satisfies IdpOrder)
    return [...(await requestRows(issuer)), ...(await startRows(issuer))]
  } finally {
    await idp.close()
  }
}

interface Side {
  readonly program: Program
  readonly address: string
}

async function requestRows(issuer: string): Promise<readonly Measurement[]> {
  const programs: Program[] = []
  const side = async (domains: number): Promise<Side> => {
    const program = await startProgram('login-party.ts')
    programs.push(program)
    const client = { client_id: 'bench', client_secret: 'a secret of the bench' }
    const { me } = await program.ask<Party>({ kind: 'ours', issuer, client, domains } satisfies PartyOrder)
    return { program, address: me }
  }
  try {
    const one = await side(1)
    const rows: Measurement[] = []
    let ofOne = Number.NaN
    for (const domains of [100, MOST_DOMAINS]) {
      const many = await side(domains)
      const run = (which: Side) => () => cpuOfRequest(which)
      await run(many)()
      await run(one)()
      const { ours, peer } = await alternate(ROUNDS, run(many), run(one))
      ofOne = peer
      rows.push(beside(`login.domains.${domains}`, 'ms CPU', { ours, peer }, 'the same with one domain', 'less'))
    }
    return [alone('login.domains.1', 'ms CPU', ofOne), ...rows]
  } finally {
    for (const program of programs) await program.close()
  }
}

async function cpuOfRequest({ program, address }: Side): Promise<number> {
  const cpu = async () => (await program.ask<{ cpu: number }>({ kind: 'cpu' } satisfies PartyOrder)).cpu
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const before = await cpu()
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let i = 0; i < REQUESTS_A_ROUND / CONNECTIONS; i += 1) await request(address, agent)
    }),
  )
  const after = await cpu()
  agent.destroy()
  return (after - before) / 1000 / REQUESTS_A_ROUND
}

function request(address: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(address, { agent }, (response) => {
      if (response.statusCode !== 401) reject(new Error(`status ${response.statusCode}, and nobody is signed in`))
      response.resume().on('end', resolve).on('error', reject)
    }).on('error', reject)
  })
}

async function startRows(issuer: string): Promise<readonly Measurement[]> {
  const starts = await inTurn(ROUNDS, async () => {
    const program = await startProgram('domains-start.ts')
    const order: StartOrder = { issuer, domains: MOST_DOMAINS }
    return program.ask<DomainsStart>(order).finally(program.close)
  })
  return [
    alone('start.domains', 'ms CPU', median(starts.map(({ cpuMs }) => cpuMs))),
    alone('start.domains.rss', 'MB', median(starts.map(({ megabytes }) => megabytes))),
  ]
}
