import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import pg from 'pg'
import sqlite3 from 'sqlite3'
import { startPostgres } from '../../../fixtures/demo/postgres.ts'
import type { DbRecord } from './data-folder.ts'
import { INSTALL_LIMIT_MS } from './installation.ts'
import { laboratory } from './laboratory.ts'
import { startMariaDb } from './mariadb.ts'
import { startMongoStandIn } from './mongo-stand-in.ts'

/** A running database that MeshCentral uses instead of its own NeDB. */
interface Started {
  /** MeshCentral's settings for the database. */
  readonly settings: Readonly<Record<string, unknown>>
  close(): Promise<void>
}

export interface Database extends Started {
  /** Returns the current records by id. @param dataPath MeshCentral's data folder */
  records(dataPath: string): Promise<ReadonlyMap<string, DbRecord>>
}

interface Kind<What extends Started> {
  readonly name: string
  /** The package that MeshCentral installs for the database. */
  readonly driver: string
  /** @returns the reason as a string if the database cannot start */
  start(installation: string): Promise<What | string>
}

/** A database with records that the test can read. */
interface DatabaseKind extends Kind<Database> {
  /** Whether the database accepts ids of more than 256 characters. */
  readonly longIds: boolean
  /** Whether ids that differ only in case are distinct. */
  readonly isCaseSensitive: boolean
  /**
   * The number of first logins that the test makes at once. MeshCentral's pool for MariaDB has 10 connections, and
   * refuses a request that waits 10 s for one. On a busy machine, 100 first logins with 5,000 writes exceed that.
   */
  readonly loginsAtOnce: number
}

type Rows = readonly { readonly id: string; readonly doc: string | DbRecord }[]

const ALL = 'SELECT id, doc FROM main'
const LOGIN = { host: '127.0.0.1', user: 'mesh', password: 'mesh', database: 'meshcentral' } as const

export const DATABASES: readonly DatabaseKind[] = [
  {
    name: 'SQLite',
    driver: 'sqlite3',
    longIds: true,
    isCaseSensitive: true,
    loginsAtOnce: 100,
    // With the journal mode `wal`, SQLite seldom syncs to disk.
    start: async () => ({
      settings: { sqlite3: { name: 'mesh', journalMode: 'wal' } },
      records: async (dataPath) => recordsOf(await rowsOfSqlite(join(dataPath, 'mesh.sqlite'))),
      close: async () => undefined,
    }),
  },
  {
    name: 'PostgreSQL',
    driver: 'pg',
    longIds: false,
    isCaseSensitive: true,
    loginsAtOnce: 100,
    async start() {
      const { address, stop } = await startPostgres()
      const settings = { ...LOGIN, port: Number(new URL(address).port) }
      return {
        settings: { postgres: settings },
        async records() {
          const client = new pg.Client(settings)
          await client.connect()
          const { rows } = await client.query(ALL)
          await client.end()
          return recordsOf(rows)
        },
        close: stop,
      }
    },
  },
  {
    name: 'MariaDB',
    driver: 'mariadb',
    longIds: false,
    isCaseSensitive: false,
    loginsAtOnce: 30,
    start: (installation) => openMariaDb('mariadb', installation),
  },
  {
    name: "MariaDB by MySQL's driver",
    driver: 'mysql2',
    longIds: false,
    isCaseSensitive: false,
    loginsAtOnce: 30,
    start: (installation) => openMariaDb('mysql', installation),
  },
]

/** The other databases that MeshCentral supports. On AceBase, it crashes when a device group is created. */
export const OTHER_DATABASES: readonly Kind<Started>[] = [
  {
    name: 'AceBase',
    driver: 'acebase',
    start: async () => ({ settings: { acebase: true }, close: async () => undefined }),
  },
  {
    name: 'mongo-java-server in place of MongoDB',
    driver: 'mongodb',
    async start() {
      const started = await startMongoStandIn()
      if (typeof started === 'string') return started
      return { settings: { mongoDb: started.url, mongoDbName: 'mesh' }, close: started.close }
    },
  },
]

/**
 * Starts a database before the tests of a block and closes it after them. If it cannot start, the tests are skipped
 * with a reason.
 */
export function useDatabase<What extends Started>({ driver, start }: Kind<What>): () => What | undefined {
  let database: What | undefined
  before(async function () {
    this.timeout(INSTALL_LIMIT_MS + 400_000)
    const { installation } = await laboratory()
    // MeshCentral would install the driver into a shared folder.
    const hasDriver = existsSync(join(installation, 'node_modules', driver))
    const started = hasDriver ? await start(installation) : `the installation of MeshCentral has no ${driver}`
    if (typeof started === 'string') {
      console.log(`    skipped: ${started}`)
      this.skip()
    }
    database = started
  })
  after(() => database?.close())
  return () => database
}

async function openMariaDb(setting: 'mariadb' | 'mysql', installation: string): Promise<Database | string> {
  const started = await startMariaDb()
  if (typeof started === 'string') return started
  const settings = { ...LOGIN, port: started.port }
  return {
    settings: { [setting]: settings },
    async records() {
      const { createConnection } = createRequire(join(installation, 'node_modules/'))('mariadb') as MariaDbDriver
      const connection = await createConnection(settings)
      const rows = await connection.query(ALL)
      await connection.end()
      return recordsOf(rows)
    },
    close: started.close,
  }
}

interface MariaDbDriver {
  createConnection(settings: object): Promise<{ query(text: string): Promise<Rows>; end(): Promise<void> }>
}

function rowsOfSqlite(file: string): Promise<Rows> {
  return new Promise((resolve, reject) => {
    const database = new sqlite3.Database(file, sqlite3.OPEN_READONLY)
    database.configure('busyTimeout', 10_000)
    database.all(ALL, (error, rows) => {
      database.close()
      if (error) reject(error)
      else resolve(rows as Rows)
    })
  })
}

function recordsOf(rows: Rows): ReadonlyMap<string, DbRecord> {
  return new Map(rows.map(({ id, doc }) => [id, typeof doc === 'string' ? (JSON.parse(doc) as DbRecord) : doc]))
}
