import pg from 'pg'
import { type Certificates, makeCertificates } from '../../../../fixtures/certificate.ts'
import { type Clock, systemClock } from '../../../../sidecar/clock.ts'
import { createLog, type Log } from '../../../../sidecar/log.ts'
import {
  connectPostgres,
  type PostgresSettings,
  type Postgres as Queried,
} from '../../../../sidecar/store/postgres/database/connection.ts'
import { migrate } from '../../../../sidecar/store/postgres/schema/migrations.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { startTcpRelay, type TcpRelay } from '../../../support/tcp-relay.ts'
import { until } from '../../../support/until.ts'
import { EmptiedTables } from './emptied-tables.ts'

let server: Promise<Postgres & Pick<Certificates, 'ca'>> | undefined
let databases = 0

// A parallel test runner that ends slowly gets this signal. Only this listener then lets it end the server.
process.once('SIGTERM', () => process.exit())

/**
 * The address of a new, empty database on a server that all tests of this process share. The first call starts it: give
 * it a minute.
 */
export async function freshDatabase(): Promise<string> {
  const { address } = await sharedServer()
  databases += 1
  const name = `fresh_${databases}`
  await runAt(address, `CREATE DATABASE ${name}`)
  return address.replace(/[^/]*$/, name)
}

/** Certificate of the authority that signed the shared server's, in PEM. */
export async function authority(): Promise<string> {
  return (await sharedServer()).ca.cert
}

/** Starts the server unless it runs already. */
function sharedServer(): Promise<Postgres & Pick<Certificates, 'ca'>> {
  server ??= (async () => {
    // The host name selects a separate certificate pool. A pool repeats its certificates, but tests beside this server
    // need different ones.
    const certificates = await makeCertificates({ names: ['database.test'] })
    return { ...(await startPostgres({ certificate: certificates.server, untilExit: true })), ca: certificates.ca }
  })()
  return server
}

/** Runs SQL statements at `address` on a new connection. Resolves with the rows of the last one. */
export async function runAt(address: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(address)
  await client.connect()
  try {
    // For several statements, `pg` returns a list of results.
    const results: pg.QueryResult | pg.QueryResult[] = await client.query(text)
    return (Array.isArray(results) ? results.at(-1) : results)?.rows ?? []
  } finally {
    await client.end()
  }
}

/** A database that the tests of a suite share, and what they have open there. */
export interface OwnDatabase {
  readonly address: string
  /** Called after each test, the newest first. */
  readonly closing: (() => unknown)[]
  /** Returns settings for a store or connections. Default: the address of this database. */
  at(address?: string): PostgresSettings
  connect(clock?: Clock, log?: Log, address?: string): Promise<Queried>
  /**
   * Connects to empty tables, without the data of earlier tests.
   *
   * @param perStation makes rings of so many places
   * @param statements run once after the tables were created, the same in all tests of a suite
   */
  tables(perStation?: number, statements?: string): Promise<Queried>
  /**
   * Runs SQL statements with the schema `mesh_companion` in the search path. Resolves with the rows of the last one.
   */
  run(text: string): Promise<readonly Record<string, unknown>[]>
  /** Starts a relay to the server that a test can cut. Resolves with it and this database's address through it. */
  relayed(): Promise<{ readonly relay: TcpRelay; readonly address: string }>
  /**
   * Runs a statement on a new connection, which keeps its locks. Resolves with a function that closes the connection.
   */
  hold(text: string): Promise<() => Promise<void>>
  /** Resolves once at least `count` statements wait for locks. */
  waiting(count: number): Promise<void>
}

/** Call inside a `describe`. */
export function ownDatabase(): OwnDatabase {
  let address = ''
  const closing: (() => unknown)[] = []
  const index = (another = address): PostgresSettings => ({ database: another, databaseTls: { caFile: null } })

  before(async function () {
    this.timeout(120_000)
    address = await freshDatabase()
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function connect(clock = systemClock, log = createLog('silent'), another = address): Promise<Queried> {
    const opened = await connectPostgres(index(another), clock, log)
    closing.push(opened.close)
    return opened
  }
  const run = (text: string) => runAt(address, `SET search_path = mesh_companion, public; ${text}`)
  const emptied = new EmptiedTables(run)

  return {
    get address() {
      return address
    },
    closing,
    at: index,
    connect,
    async tables(perStation, statements = '') {
      const isEmpty = await emptied.empty()
      if (!isEmpty) await run('DROP SCHEMA IF EXISTS mesh_companion CASCADE')
      const postgres = await connect()
      if (!isEmpty) {
        await migrate(postgres)
        await run(statements)
        await emptied.note()
      }
      if (perStation !== undefined) await postgres.query('SELECT fit_rings($1)', [perStation])
      return postgres
    },
    run,
    async relayed() {
      const relay = await startTcpRelay(Number(new URL(address).port))
      closing.push(relay.close)
      return { relay, address: address.replace(/:\d+\//, `:${relay.port}/`) }
    },
    async hold(text) {
      const client = new pg.Client(address)
      await client.connect()
      closing.push(() => client.end())
      await client.query(text)
      return () => client.end()
    },
    async waiting(count) {
      await until(`${count} queries to wait`, async () => (await run(`SELECT ${WAITING}`)).length >= count)
    },
  }
}

/** The part of an SQL query that selects the statements that wait for a lock. */
export const WAITING = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

/** The machine's clock with pauses shortened by this factor. Limits for answers of the database keep their length. */
export function hastened(times: number): Clock {
  return {
    ...systemClock,
    after: (delayMs, task) => systemClock.after(delayMs < 10_000 ? delayMs / times : delayMs, task),
  }
}

/** Like {@link hastened}, but its elapsed time is faster too: a minute takes less than a second. */
export const HASTY: Clock = { ...hastened(100), elapsed: () => systemClock.elapsed() * 100 }
