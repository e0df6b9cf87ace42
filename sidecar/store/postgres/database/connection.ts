import type pg from 'pg'
import { type Clock, within } from '../../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { readAddresses, tlsTo } from './address.ts'
import { loadPg, NUMBER_PARSERS } from './client-library.ts'
import { Health } from './health.ts'
import { listenTo } from './notifications.ts'
import { toStoreError } from './postgres-error.ts'
import { type HostConfig, Primary } from './primary.ts'
import { REMEMBER_TIMELINE, type SessionSettings } from './session.ts'
import { Sockets } from './sockets.ts'
import type { SqlValue } from './sql-values.ts'
import { StatementPools } from './statement-pools.ts'

/** Runs SQL. Rejects with a {@link StoreError}. */
export interface Queries {
  /**
   * Runs one statement. The server prepares each statement once per connection and keeps it, so `text` must be a
   * constant. Returns each `bigint` as a number.
   */
  query<Row>(text: string, values?: readonly SqlValue[]): Promise<readonly Row[]>
}

/**
 * A connection that one caller uses alone. If a statement has no answer within `answerMs` (default: one minute), it
 * rejects with `database_unreachable`.
 */
export interface OwnConnection extends Queries {
  query<Row>(text: string, values?: readonly SqlValue[], answerMs?: number): Promise<readonly Row[]>
  /** Runs several statements that have no parameters. */
  run(text: string, answerMs?: number): Promise<void>
}

/** A pool of connections to PostgreSQL. A statement may run on any connection, in parallel with others. */
export interface Postgres extends Queries {
  /** Runs a statement that only reads. Reads have reserved connections, so waiting writes never block them. */
  readonly read: Queries['query']
  /**
   * Passes `work` a connection of its own, which is closed afterwards. A transaction that is still open is rolled back.
   */
  onOwnConnection<T>(work: (connection: OwnConnection) => Promise<T>): Promise<T>
  /**
   * Calls `heard` at each notification on `channel`, and whenever a notification may have been missed. Uses a
   * connection of its own, and reconnects automatically.
   */
  listen(channel: string, heard: () => void): void
  /**
   * Returns the newest timeline of any connection; 0 if unknown. A newer one means that a standby took over, which may
   * lack the last commits.
   */
  timeline(): number
  /** Returns the fault that made the last statements fail; undefined if the database works. */
  fault(): StoreErrorCode | undefined
  /**
   * Tests whether messages can be stored, and updates {@link fault}. After the first call, a faulty database is probed
   * each second. Concurrent calls share a probe. Never rejects.
   */
  probe(): Promise<void>
  /** Rejects new statements, waits at most 500 ms for those in progress, and ends all connections. Idempotent. */
  close(): Promise<void>
}

export interface PostgresSettings {
  /** The address, `postgres://…`. It may contain a password, which appears in no log line and no error. */
  readonly database: string
  readonly databaseTls: { readonly caFile: string | null }
}

const CONNECT_MS = 5000
const STATEMENT_MS = 10_000
/**
 * Time limit for an answer, in milliseconds. It exceeds {@link STATEMENT_MS}, so that the server gives up first and
 * reports the outcome.
 */
const ANSWER_MS = 15_000
const OWN_WAIT_MS = 30_000
const OWN_ANSWER_MS = 60_000
/** Time limit of a statement on whole tables, in milliseconds. Trimming the rings of 36,000 stations took 53 s. */
export const WHOLE_TABLE_MS = 600_000
/**
 * Silence in milliseconds after which TCP keep-alive starts: the system then probes the server ten times, once a
 * second. The system's default is 2 hours.
 */
const SILENCE_MS = 10_000
const CLOSE_MS = 500

const SESSION: SessionSettings = {
  jit: 'off', // JIT compilation added 20 ms to each statement of 1,000 rows
  statement_timeout: STATEMENT_MS,
  idle_in_transaction_session_timeout: STATEMENT_MS,
}
// A connection of one caller's own: statements may run long, but an idle transaction must not block other instances.
const OWN_SESSION: SessionSettings = {
  jit: 'off',
  client_min_messages: 'warning',
  statement_timeout: WHOLE_TABLE_MS,
  lock_timeout: OWN_WAIT_MS,
  idle_in_transaction_session_timeout: OWN_WAIT_MS,
}

const PROBE = 'SELECT try_to_store()'

/**
 * Creates a pool. Aborting `stopping` closes it. Rejects with `pg_missing`, or `database_untrusted` if the CA file
 * cannot be read.
 */
export async function connectPostgres(
  settings: PostgresSettings,
  clock: Clock,
  log: Log,
  stopping?: AbortSignal,
): Promise<Postgres> {
  const hosts = await hostsOf(settings)
  const connections = new Connections({ hosts, library: await loadPg(), clock, log })
  stopping?.addEventListener('abort', () => void connections.close(), { once: true })
  await connections.open()
  return connections
}

interface ConnectionsParts {
  readonly hosts: readonly HostConfig[]
  readonly library: typeof pg
  readonly clock: Clock
  readonly log: Log
}

/**
 * All connections to PostgreSQL. {@link StatementPools} run statements, {@link Primary} chooses their host, and
 * {@link Health} tracks whether the database works. `Health` receives each error of a statement, and asks `Primary` for
 * the primary host. If that has changed, the pools are renewed.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class Connections implements Postgres {
  readonly #library: typeof pg
  readonly #hosts: readonly HostConfig[]
  readonly #clock: Clock
  readonly #config: pg.ClientConfig
  readonly #sockets = new Sockets()
  readonly #primary: Primary
  readonly #pools: StatementPools
  readonly #health: Health
  readonly #stopListening: (() => Promise<void>)[] = []
  /** The newest timeline that this process wrote into the database. */
  #rememberedTimeline = 0
  #closing: Promise<void> | undefined

  constructor({ hosts, library, clock, log }: ConnectionsParts) {
    this.#library = library
    this.#hosts = hosts
    this.#clock = clock
    const { types } = library
    this.#config = {
      application_name: 'mesh-companion-sidecar',
      keepAlive: true,
      keepAliveInitialDelayMillis: SILENCE_MS,
      connectionTimeoutMillis: CONNECT_MS,
      types: { getTypeParser: (oid, format) => NUMBER_PARSERS[oid] ?? types.getTypeParser(oid, format) },
      stream: this.#sockets.open,
    }
    this.#primary = new Primary({
      hosts,
      createClient: (host) => new library.Client({ ...this.#config, ...host }),
      clock,
      onMove: () => this.#pools.renew(),
      onTakeover: () => this.#sockets.destroyAll(),
      onOlder: (error) => this.#health.note(error),
    })
    this.#health = new Health({
      tryToStore: async () => void (await this.#pools.query(PROBE)),
      onSound: () => this.#rememberTimeline(),
      onDoubt: () => this.#primary.locate(),
      clock,
      log,
    })
    this.#pools = new StatementPools({
      openPool: (max) => this.#openPool(max),
      onError: (error) => this.#health.noteIfFault(error),
    })
  }

  /** Looks for the primary, if several hosts are configured. */
  async open(): Promise<void> {
    if (this.#hosts.length > 1) await this.#primary.moveOn()
  }

  readonly query: Queries['query'] = (text, values) => this.#pools.query(text, values)
  readonly read: Queries['query'] = (text, values) => this.#pools.read(text, values)
  readonly timeline = (): number => this.#primary.timeline
  readonly fault = (): StoreErrorCode | undefined => this.#health.fault
  readonly probe = (): Promise<void> => this.#health.probe()

  readonly onOwnConnection = async <T>(work: (connection: OwnConnection) => Promise<T>): Promise<T> => {
    if (this.#closing !== undefined) throw new StoreError('store_closed')
    const { client, destroy } = this.#createClient()
    client.on('error', () => undefined)
    try {
      await client.connect()
      await within(ANSWER_MS, this.#primary.admit(client, OWN_SESSION), this.#clock)
      return await work(this.#ownConnection(client))
    } catch (cause) {
      const error = toStoreError(cause)
      this.#health.noteIfFault(error)
      throw error
    } finally {
      // The wait is limited, because `end` never settles if the server hangs.
      await within(CLOSE_MS, client.end(), this.#clock).catch(() => undefined)
      destroy()
    }
  }

  readonly listen = (channel: string, heard: () => void): void => {
    this.#stopListening.push(listenTo(channel, heard, () => this.#createClient(), this.#clock))
  }

  readonly close = (): Promise<void> => {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  /** Creates a client that is not connected yet, with a socket that can be destroyed. */
  #createClient(): { readonly client: pg.Client; readonly destroy: () => void } {
    const socket = this.#sockets.open()
    const client = new this.#library.Client({ ...this.#config, ...this.#primary.host, stream: () => socket })
    return { client, destroy: () => void socket.destroy() }
  }

  #ownConnection(client: pg.Client): OwnConnection {
    const clock = this.#clock
    return {
      query: async <Row>(text: string, values: readonly SqlValue[] = [], answerMs = OWN_ANSWER_MS) =>
        (await within(answerMs, client.query({ text, values: [...values] }), clock)).rows as readonly Row[],
      run: async (text, answerMs = OWN_ANSWER_MS) => void (await within(answerMs, client.query(text), clock)),
    }
  }

  #openPool(max: number): pg.Pool {
    const pool = new this.#library.Pool({
      ...this.#config,
      ...this.#primary.host,
      verify: (client, done) => {
        // The pool adds its own error listener later. Until then, an error without a listener would end the process.
        client.on('error', () => undefined)
        void this.#primary.admit(client, SESSION).then(() => done(), done)
      },
      max,
      query_timeout: ANSWER_MS,
      idleTimeoutMillis: 0,
    })
    // Ignores errors of idle connections, because the next statement uses another connection.
    pool.on('error', () => undefined)
    return pool
  }

  async #rememberTimeline(): Promise<void> {
    const { timeline } = this.#primary
    if (timeline <= this.#rememberedTimeline) return
    // If the database user lacks the right to write the timeline, only this process remembers it.
    await this.#pools.attempt(REMEMBER_TIMELINE, [timeline])
    this.#rememberedTimeline = timeline
  }

  async #shutDown(): Promise<void> {
    this.#sockets.refuse()
    this.#primary.close()
    this.#health.close()
    const ended = Promise.all([this.#pools.close(), ...this.#stopListening.map((stop) => stop())])
    const late = new Promise<void>((resolve) => {
      const timer = this.#clock.after(CLOSE_MS, resolve)
      void ended.catch(() => undefined).finally(() => timer.cancel())
    })
    // The server may never answer.
    await Promise.race([ended, late]).catch(() => undefined)
    this.#sockets.destroyAll()
  }
}

function hostsOf({ database, databaseTls }: PostgresSettings): Promise<readonly HostConfig[]> {
  return Promise.all(
    readAddresses(database).map(async (host) => ({ ...host, ssl: await tlsTo(host, databaseTls.caFile) })),
  )
}
