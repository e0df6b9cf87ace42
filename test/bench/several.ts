import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startAprsIs } from '../../fixtures/aprsis/server.ts'
import { type Postgres, startPostgres } from '../../fixtures/demo/postgres.ts'
import { type LoadClient, syncRate } from './api.ts'
import { startBuiltSidecar } from './built-sidecar.ts'
import { burst, COALESCE_MS, MESSAGES } from './durable.ts'
import { type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { alone, alternate, beside, type Measurement, median, takeTurns } from './measurement.ts'
import { usageOf } from './process-usage.ts'
import { startProgram } from './program.ts'
import { startPushGateway } from './push-gateway.ts'

const STATIONS = 5000
const MESSAGES_EACH = 50
const CALLERS = 100
const ROUNDS = 5
const LISTENERS = 2
const INSTANCES = 3
const PEER = 'the same on SQLite, which asks no other process and shares with none'
const MOST_MS = 60_000

/** Folder in which Debian installs the versions of PostgreSQL. */
const INSTALLED = '/usr/lib/postgresql'

/**
 * Measures the sidecar with PostgreSQL on the same machine, which flushes its commits. It uses the newest installed
 * version, because the build from npm takes half as long again.
 *
 * - `pipeline.postgres`: like `pipeline.durable`, for one process, and for two and three processes that receive
 *   different messages. The peer of the last two is one process.
 * - `api.sync.postgres`: like `api.sync`, but each request queries the database.
 * - `….cpu`: CPU time of one message or request in the sidecar. The peer is that of the database.
 * - `pipeline.takeover`: seconds from the crash of one of two listeners, among three instances, until two listen again.
 */
export async function severalBench(): Promise<readonly Measurement[]> {
  const bin = installedPostgres()
  const postgres = await startPostgres({ durable: true, ...(bin !== undefined && { bin }) })
  try {
    // Measured first, because the filters of stations would take time later.
    const takeover = await takeoverRow(postgres.address)
    return [...(await loadRows(postgres)), takeover]
  } finally {
    await postgres.stop()
  }
}

/** Returns the folder with the programs of the newest installed PostgreSQL; undefined if there is none. */
export function installedPostgres(): string | undefined {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).toSorted((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => join(INSTALLED, version, 'bin')).find((bin) => existsSync(join(bin, 'postgres')))
}

async function loadRows(postgres: Postgres): Promise<readonly Measurement[]> {
  const gateway = await startPushGateway('fcm')
  const push = { ...gateway.settings, coalesceMs: COALESCE_MS }
  const load = { stations: STATIONS, messagesEach: MESSAGES_EACH, push }
  const first = await startLoaded({ ...load, database: postgres.address, of: INSTANCES })
  const onSqlite = await startLoaded(load)
  const client: LoadClient = await startProgram('http-load-client.ts')
  const all = [first]
  try {
    const store = await takeTurns(ROUNDS, {
      ours: () => costOf(first, postgres, MESSAGES, () => burst(first, STATIONS)),
      peer: () => burst(onSqlite, STATIONS),
    })
    const sync = await takeTurns(ROUNDS, {
      ours: () => costOf(first, postgres, undefined, () => syncRate(first, client, CALLERS)),
      peer: () => syncRate(onSqlite, client, CALLERS),
    })
    const rows = [
      ...costRows('pipeline.postgres', 'message', store.ours, store.peer),
      ...costRows('api.sync.postgres', 'request', sync.ours, sync.peer),
    ]
    while (all.length < INSTANCES) {
      const place = { place: all.length, of: INSTANCES }
      all.push(await startLoaded({ ...load, ...place, messagesEach: 0, database: postgres.address }))
      const together = await alternate(ROUNDS, { ours: () => burstOfAll(all), peer: () => burst(first, STATIONS) })
      rows.push(beside(`pipeline.postgres.${all.length}`, 'messages/s', together, 'one of them alone'))
    }
    return rows
  } finally {
    await client.close()
    for (const item of [...all, onSqlite]) await item.close()
    await gateway.close()
  }
}

type Cost = Awaited<ReturnType<typeof costOf>>

/**
 * Returns the CPU time of one message or request, in microseconds. `database`: the CPU time of all processes of
 * PostgreSQL.
 *
 * @param count number of messages or requests in a round; by default as many as in a second
 */
async function costOf(
  { sidecar }: LoadedSidecar,
  postgres: Postgres,
  count: number | undefined,
  round: () => Promise<number>,
) {
  const [product, database] = [sidecar.cpuMicroseconds(), cpuOf(postgres)]
  const perSecond = await round()
  const each = (countBefore: number, endValue: number) => (endValue - countBefore) / (count ?? perSecond)
  return { perSecond, ours: each(product, sidecar.cpuMicroseconds()), database: each(database, cpuOf(postgres)) }
}

/** Returns the CPU time of PostgreSQL with all its processes, in microseconds. */
function cpuOf(postgres: Postgres): number {
  const pid = postgres.pid() ?? 0
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return [pid, ...children.map(Number)].reduce((sum, item) => sum + usageOf(item).cpuMicroseconds(), 0)
}

function costRows(name: string, each: string, costs: readonly Cost[], peer: readonly number[]): Measurement[] {
  const middle = (figure: keyof Cost) => median(costs.map((cost) => cost[figure]))
  const cpu = { ours: middle('ours'), peer: middle('database') }
  return [
    beside(name, `${each}s/s`, { ours: middle('perSecond'), peer: median(peer) }, PEER),
    beside(`${name}.cpu`, `µs CPU/${each}`, cpu, 'what the database takes for it', 'less'),
  ]
}

/** Returns the messages per second of all sidecars together, when all receive a burst at the same time. */
async function burstOfAll(all: readonly LoadedSidecar[]): Promise<number> {
  const begun = performance.now()
  await Promise.all(all.map((item) => burst(item, STATIONS)))
  return (all.length * MESSAGES * 1000) / (performance.now() - begun)
}

type Member = Awaited<ReturnType<typeof startMember>>

async function takeoverRow(database: string): Promise<Measurement> {
  let members: readonly Member[] = []
  const seconds: number[] = []
  try {
    for (let name = 0; name < INSTANCES; name += 1) members = [...members, await startMember(database, `bench-${name}`)]
    for (let round = 0; round < ROUNDS; round += 1) {
      await listening(members)
      const [victim] = members.filter(isListening)
      if (!victim) throw new Error('Nobody listens.')
      members = members.filter((member) => member !== victim)
      const begun = performance.now()
      await victim.sidecar.kill()
      await listening(members)
      seconds.push((performance.now() - begun) / 1000)
      await victim.server.close()
      members = [...members, await startMember(database, `bench-${INSTANCES + round}`)]
    }
  } finally {
    for (const { server, sidecar } of members) {
      await sidecar.close()
      await server.close()
    }
  }
  return alone('pipeline.takeover', 's', median(seconds))
}

/** Starts an instance, and an APRS-IS server that only this instance uses. */
async function startMember(database: string, instance: string) {
  const server = await startAprsIs({ serverCall: instance.toUpperCase() })
  const { host, port } = server
  const aprsis = { host, port, callsign: 'N0CALL', passcode: 13023 }
  return { server, sidecar: await startBuiltSidecar({ instance, database, aprsis }) }
}

const isListening = ({ server }: Member): boolean => server.clients().length > 0

/** Resolves once as many instances listen as should. */
async function listening(members: readonly Member[]): Promise<void> {
  const late = AbortSignal.timeout(MOST_MS)
  while (members.filter(isListening).length < LISTENERS) {
    const next = new AbortController()
    const signal = AbortSignal.any([late, next.signal])
    await Promise.race(members.map(({ server }) => once(server.events, 'login', { signal })))
    next.abort()
  }
}
