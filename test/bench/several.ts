import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { startPostgres } from '../../fixtures/demo/postgres.ts'
import { syncRate } from './api.ts'
import { type BuiltSidecar, startBuiltSidecar } from './built-sidecar.ts'
import { burst } from './durable.ts'
import { startLoaded } from './loaded-sidecar.ts'
import { alone, alternate, beside, type Measurement, median } from './measurement.ts'
import { startProgram } from './program.ts'

const STATIONS = 5000
const MESSAGES_EACH = 50
const CALLERS = 100
const ROUNDS = 5
const LISTENERS = 2
const INSTANCES = 3
const PEER = 'the same on SQLite, which asks no other process and shares with none'
const MOST_MS = 60_000

/**
 * The sidecar on PostgreSQL, which runs on the same machine and flushes what it commits.
 * - `pipeline.postgres`: as `pipeline.durable`;
 * - `api.sync.postgres`: as `api.sync`, each of which asks the database;
 * - `pipeline.takeover`: seconds from the death of one of two listeners until two listen again, of three instances.
 */
export async function severalBench(): Promise<readonly Measurement[]> {
  const postgres = await startPostgres({ durable: true })
  try {
    // First, while no stations are there, whose filters would take time.
    const takeover = await takeoverRow(postgres.address)
    return [...(await loadRows(postgres.address)), takeover]
  } finally {
    await postgres.stop()
  }
}

async function loadRows(database: string): Promise<readonly Measurement[]> {
  const load = { stations: STATIONS, messagesEach: MESSAGES_EACH }
  const onPostgres = await startLoaded({ ...load, database })
  const onSqlite = await startLoaded(load)
  const client = await startProgram('http-load-client.ts')
  try {
    const stored = await alternate(
      ROUNDS,
      () => burst(onPostgres, STATIONS),
      () => burst(onSqlite, STATIONS),
    )
    const synced = await alternate(
      ROUNDS,
      () => syncRate(onPostgres, client, CALLERS),
      () => syncRate(onSqlite, client, CALLERS),
    )
    return [
      beside('pipeline.postgres', 'messages/s', stored, PEER),
      beside('api.sync.postgres', 'requests/s', synced, PEER),
    ]
  } finally {
    await client.close()
    await onPostgres.close()
    await onSqlite.close()
  }
}

/** An instance, and the APRS-IS server that it alone uses. */
interface Member {
  readonly server: AprsIsServer
  readonly sidecar: BuiltSidecar
}

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

async function startMember(database: string, instance: string): Promise<Member> {
  const server = await startAprsIs({ serverCall: instance.toUpperCase() })
  const { host, port } = server
  const aprsis = { host, port, callsign: 'N0CALL', passcode: 13023 }
  return { server, sidecar: await startBuiltSidecar({ instance, database, aprsis }) }
}

const isListening = ({ server }: Member): boolean => server.clients().length > 0

/** Resolves once as many of them listen as should. */
async function listening(members: readonly Member[]): Promise<void> {
  const enough = () => members.filter(isListening).length >= LISTENERS
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(deadline)
      for (const { server } of members) server.events.off('login', look)
    }
    const look = () => {
      if (!enough()) return
      stop()
      resolve()
    }
    const deadline = setTimeout(() => {
      stop()
      reject(new Error(`Two did not listen within ${MOST_MS} ms.`))
    }, MOST_MS)
    for (const { server } of members) server.events.on('login', look)
    look()
  })
}
