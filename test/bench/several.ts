import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startAprsIs } from '../../fixtures/aprsis/server.ts'
import { type Postgres, startPostgres } from '../../fixtures/demo/postgres.ts'
import { type LoadClient, loadWithSyncs } from './api.ts'
import { startBuiltSidecar } from './built-sidecar.ts'
import { BURSTS_A_WINDOW, burstsOf, COALESCE_MS, MESSAGES } from './durable.ts'
import { type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { alone, alternate, beside, type Measurement, median, medians, untilSteady } from './measurement.ts'
import { usageOf } from './process-usage.ts'
import { startProgram } from './program.ts'
import { startPushGateway } from './push-gateway.ts'

const STATIONS = 5000
const MESSAGES_EACH = 50
const CALLERS = 100
const MOST_WINDOWS = 6
const TAKEOVERS = 5
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
    const store = await untilSteady(MOST_WINDOWS, 'perSecond', {
      ours: () =>
        withDatabase(
          postgres,
          () => MESSAGES * BURSTS_A_WINDOW,
          () => burstsOf(first, STATIONS),
        ),
      peer: () => burstsOf(onSqlite, STATIONS),
    })
    const sync = await untilSteady(MOST_WINDOWS, 'perSecond', {
      ours: () =>
        withDatabase(
          postgres,
          ({ sent }) => sent,
          () => loadWithSyncs(first, client, CALLERS),
        ),
      peer: () => loadWithSyncs(onSqlite, client, CALLERS),
    })
    const rows = [
      ...costRows('pipeline.postgres', 'message', store.ours, store.peer),
      ...costRows('api.sync.postgres', 'request', sync.ours, sync.peer),
    ]
    while (all.length < INSTANCES) {
      const place = { place: all.length, of: INSTANCES }
      all.push(await startLoaded({ ...load, ...place, messagesEach: 0, database: postgres.address }))
      const single = async () => (await burstsOf(first, STATIONS)).perSecond
      const together = await alternate(MOST_WINDOWS, { ours: () => burstsOfAll(all), peer: single })
      rows.push(beside(`pipeline.postgres.${all.length}`, 'messages/s', together, 'one of them alone'))
    }
    return rows
  } finally {
    await client.close()
    for (const item of [...all, onSqlite]) await item.close()
    await gateway.close()
  }
}

interface Cost {
  readonly perSecond: number
  /** CPU time of one message or request in the sidecar, in microseconds. */
  readonly cpuUs: number
}

/**
 * Runs a window, and adds the CPU time of one message or request in all processes of PostgreSQL, in microseconds.
 * `countOf`: the number of messages or requests in the window, with those that only warm it up.
 */
async function withDatabase<Window extends Cost>(
  postgres: Postgres,
  countOf: (window: Window) => number,
  run: () => Promise<Window>,
) {
  const cpuBefore = cpuOf(postgres)
  const window = await run()
  const { perSecond, cpuUs } = window
  return { perSecond, cpuUs, databaseUs: (cpuOf(postgres) - cpuBefore) / countOf(window) }
}

/** Returns the CPU time of PostgreSQL with all its processes, in microseconds. */
function cpuOf(postgres: Postgres): number {
  const pid = postgres.pid() ?? 0
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return [pid, ...children.map(Number)].reduce((sum, item) => sum + usageOf(item).cpuMicroseconds(), 0)
}

type WithDatabase = Awaited<ReturnType<typeof withDatabase>>

function costRows(name: string, each: string, ours: readonly WithDatabase[], peer: readonly Cost[]): Measurement[] {
  const database = ours.map(({ databaseUs }) => ({ cpuUs: databaseUs }))
  const cpu = medians({ ours, peer: database }, 'cpuUs')
  return [
    beside(`${name}.cpu`, `µs CPU/${each}`, cpu, 'what the database takes for it', 'less'),
    beside(name, `${each}s/s`, medians({ ours, peer }, 'perSecond'), PEER),
  ]
}

/** Returns the messages per second of all sidecars together, when all receive bursts at the same time. */
async function burstsOfAll(all: readonly LoadedSidecar[]): Promise<number> {
  const begun = performance.now()
  await Promise.all(all.map((item) => burstsOf(item, STATIONS)))
  return (all.length * MESSAGES * BURSTS_A_WINDOW * 1000) / (performance.now() - begun)
}

type Member = Awaited<ReturnType<typeof startMember>>

async function takeoverRow(database: string): Promise<Measurement> {
  let members: readonly Member[] = []
  const seconds: number[] = []
  try {
    for (let name = 0; name < INSTANCES; name += 1) members = [...members, await startMember(database, `bench-${name}`)]
    for (let round = 0; round < TAKEOVERS; round += 1) {
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

/** Resolves once {@link LISTENERS} instances are logged in to APRS-IS. */
async function listening(members: readonly Member[]): Promise<void> {
  const late = AbortSignal.timeout(MOST_MS)
  while (members.filter(isListening).length < LISTENERS) {
    const next = new AbortController()
    const signal = AbortSignal.any([late, next.signal])
    await Promise.race(members.map(({ server }) => once(server.events, 'login', { signal })))
    next.abort()
  }
}
