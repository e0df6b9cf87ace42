import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import type pg from 'pg'
import { type Clock, type Timer, within } from '../../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { type DatabaseAddress, readAddresses, tlsTo } from './address.ts'
import { loadPg, NUMBER_PARSERS } from './client-library.ts'
import { listenTo } from './notifications.ts'
import { REFUSALS, toStoreError } from './postgres-error.ts'
import { REMEMBER_TIMELINE, rememberedTimeline, type SessionSettings, setUpSession, timelineOf } from './session.ts'

/** What a statement takes. Arrays become PostgreSQL's; times are in milliseconds since 1970. */
export type SqlValue = string | number | boolean | Buffer | null | readonly SqlValue[]

/** What runs SQL. Rejects with a {@link StoreError}. */
export interface Queries {
  /**
   * Runs one statement, which the server prepares once for each connection and keeps, so that `text` has to be a
   * constant. `bigint` comes as a number.
   */
  query<Row>(text: string, values?: readonly SqlValue[]): Promise<readonly Row[]>
}

/**
 * One connection to itself. A statement that is not answered within `answerMs`, a minute by default, rejects with
 * `database_unreachable`.
 */
export interface OwnConnection extends Queries {
  query<Row>(text: string, values?: readonly SqlValue[], answerMs?: number): Promise<readonly Row[]>
  /** Runs several statements that take no values. */
  run(text: string, answerMs?: number): Promise<void>
}

/**
 * PostgreSQL, as a pool of connections. Each statement may run on another one, beside others that were begun before it.
 */
export interface Postgres extends Queries {
  /**
   * As `query`, for a statement that only reads and so waits for nobody: however many writes do, there is a connection
   * for it.
   */
  readonly read: Queries['query']
  /** Gives `work` a connection to itself, which is closed at the end: the transaction that is open then is undone. */
  onOwnConnection<T>(work: (connection: OwnConnection) => Promise<T>): Promise<T>
  /**
   * Calls `heard` at each notification on `channel`, and each time that some may have been missed. On a connection of
   * its own, made again by itself.
   */
  listen(channel: string, heard: () => void): void
  /**
   * The newest timeline that a connection found: another one was taken over by a standby, which may lack what was
   * committed last. 0 before the first connection, and where the server does not reveal it.
   */
  timeline(): number
  /**
   * What is wrong with the database, since a statement failed for it; undefined when nothing is. While something is,
   * {@link probe} is tried each second, once it was called.
   */
  fault(): StoreErrorCode | undefined
  /**
   * Finds out whether messages could be stored now, which {@link fault} then says; who asks meanwhile shares the
   * answer. Never rejects.
   */
  probe(): Promise<void>
  /** Takes no more statements, waits for those under way, 500 ms at most, and ends all connections. Twice is fine. */
  close(): Promise<void>
}

export interface PostgresSettings {
  /** `postgres://…`; with a password it goes into no log and no error. */
  readonly database: string
  readonly databaseTls: { readonly caFile: string | null }
}

/** Statements of any kind that have a connection. */
const MOST_UNDER_WAY = 4
/**
 * More connections, for what only reads: writes that wait, for a row or a standby, each hold one, and there may be any
 * number of them.
 */
const MORE_READS = 2
/** Statements that wait for a connection. Each waits for {@link CONNECT_MS} at most. */
const MOST_WAITING = 10_000
const CONNECT_MS = 5000
const STATEMENT_MS = 10_000
/** The server should be the first to give up, for then it is clear what became of the statement. */
const ANSWER_MS = 15_000
const OWN_WAIT_MS = 30_000
const OWN_ANSWER_MS = 60_000
/** For a statement that goes over whole tables: other places for the messages of 36,000 stations took 53 s. */
export const WHOLE_TABLE_MS = 600_000
/**
 * Of a server without a sign of life: then it is asked for one each second, ten times. Without this that begins after 2
 * hours.
 */
const SILENCE_MS = 10_000
const AGAIN_MS = 1000
const CLOSE_MS = 500

const SESSION: SessionSettings = {
  jit: 'off', // it added 20 ms to each statement of 1,000 rows
  statement_timeout: STATEMENT_MS,
  idle_in_transaction_session_timeout: STATEMENT_MS,
}
// Their statements may take long, but not what they wait for: a machine that hangs in the middle is not to hold up all
// others. Nor does one go on for which nobody waits any more.
const OWN_SESSION: SessionSettings = {
  jit: 'off',
  client_min_messages: 'warning',
  statement_timeout: WHOLE_TABLE_MS,
  lock_timeout: OWN_WAIT_MS,
  idle_in_transaction_session_timeout: OWN_WAIT_MS,
}

const PROBE = 'SELECT try_to_store()'

/** What is wrong with the database rather than with a statement. */
const FAULTS: ReadonlySet<StoreErrorCode> = new Set([
  ...REFUSALS,
  'database_unreachable',
  'database_untrusted',
  'database_read_only',
  'database_older',
  'database_pooled',
  'database_incomplete',
  'database_corrupt',
  'disk_full',
  'disk_failing',
])

/**
 * Connects when the first statement comes. Rejects with `pg_missing`, or `database_untrusted` where the CA's file
 * cannot be read. Closes itself once `stopping` is aborted.
 */
export async function connectPostgres(
  settings: PostgresSettings,
  clock: Clock,
  log: Log,
  stopping?: AbortSignal,
): Promise<Postgres> {
  const hosts = await hostsOf(settings)
  const { Client, Pool, types } = await loadPg()
  const sockets = new Set<Socket>()
  let failing: StoreErrorCode | undefined
  /** What was said since something is wrong: reasons may take turns. */
  const said = new Set<StoreErrorCode>()
  /** Before that there may be no tables to write to. */
  let watched = false
  let planned: Timer | undefined
  let probing: Promise<void> | undefined
  const stopListening: (() => Promise<void>)[] = []
  const names = new Map<string, string>()
  let closing: Promise<void> | undefined

  /** The one of {@link hosts} that is used. */
  let at = 0
  let locating = false
  /** The newest timeline that was seen; 0 before. */
  let newest = 0
  /** The one that the database was told. */
  let remembered = 0

  const config: pg.ClientConfig = {
    application_name: 'mesh-companion-sidecar',
    keepAlive: true,
    keepAliveInitialDelayMillis: SILENCE_MS,
    connectionTimeoutMillis: CONNECT_MS,
    types: { getTypeParser: (oid, format) => NUMBER_PARSERS[oid] ?? types.getTypeParser(oid, format) },
    stream: openSocket,
  }
  stopping?.addEventListener('abort', () => void close(), { once: true })
  let pools = openPools()
  if (hosts.length > 1) await moveOn()

  /** Kept, so that none is left open by a server that does not answer. */
  function openSocket(): Socket {
    const socket = new Socket()
    // The connection is refused once it is begun.
    if (closing !== undefined) queueMicrotask(() => socket.destroy())
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  }

  function openPools() {
    return { forAll: openPool(MOST_UNDER_WAY), forReads: openPool(MORE_READS) }
  }

  function openPool(max: number): pg.Pool {
    const opened = new Pool({
      ...config,
      ...hosts[at],
      verify(client, done) {
        // The pool listens again only afterwards, and an error that nobody hears ends the process.
        client.on('error', () => undefined)
        void admit(client, SESSION).then(() => done(), done)
      },
      max,
      query_timeout: ANSWER_MS,
      idleTimeoutMillis: 0,
    })
    // Of connections that lie idle: the next statement takes another one.
    opened.on('error', () => undefined)
    return opened
  }

  const query: Queries['query'] = (text, values = []) => runIn(pools.forAll, text, values)

  const read: Queries['query'] = (text, values = []) => {
    const { forAll, forReads } = pools
    // While nothing is stuck, reads may take all connections.
    return runIn(hasRoom(forAll) && !hasRoom(forReads) ? forAll : forReads, text, values)
  }

  async function runIn<Row>(pool: pg.Pool, text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    if (closing !== undefined) throw new StoreError('store_closed')
    if (pool.waitingCount >= MOST_WAITING) throw new StoreError('store_overloaded')
    const used = pools
    try {
      return (await pool.query({ name: nameOf(text), text, values: [...values] })).rows as readonly Row[]
    } catch (cause) {
      const error = toStoreError(cause)
      // The name has come to lead elsewhere, or soon will.
      if (error.code === 'database_read_only' && used === pools) renewPools()
      if (FAULTS.has(error.code)) noteHealth(error)
      throw error
    }
  }

  /**
   * Makes a new connection ready, if it leads to the primary. An old one that comes back does not know what was written
   * since it was one, and what it takes is lost with it: what its timeline shows. It may be behind connections of
   * before, too, so all of those end.
   */
  async function admit(client: pg.ClientBase, session: SessionSettings): Promise<void> {
    await setUpSession(client, session)
    const timeline = await timelineOf(client)
    if (timeline === 0) throw new StoreError('database_read_only')
    if (timeline === undefined || timeline === newest) return
    if (timeline < Math.max((await rememberedTimeline(client)) ?? 0, newest)) throw new StoreError('database_older')
    const before = newest
    // Another connection was made ready meanwhile.
    if (timeline === before) return
    newest = timeline
    if (before === 0) return
    for (const socket of sockets) socket.destroy()
    throw new StoreError('database_unreachable')
  }

  /** Goes on to the primary, where several hosts are named: of two that take writes, to that of the newer timeline. */
  function locate(): void {
    if (hosts.length === 1 || locating) return
    locating = true
    void moveOn().finally(() => {
      locating = false
    })
  }

  async function moveOn(): Promise<void> {
    const better = await betterHost()
    if (better === undefined || closing !== undefined) return
    at = better
    renewPools()
  }

  async function betterHost(): Promise<number | undefined> {
    const found = await Promise.all(hosts.map(timelineAt))
    const best = Math.max(...found)
    if (best > 0 && best < newest) noteHealth(new StoreError('database_older'))
    return best >= newest && best > (found[at] ?? 0) ? found.indexOf(best) : undefined
  }

  /** 0 where nobody takes writes now. */
  async function timelineAt(host: HostConfig): Promise<number> {
    const client = new Client({ ...config, ...host })
    client.on('error', () => undefined)
    try {
      await within(CONNECT_MS, client.connect(), clock)
      return (await within(CONNECT_MS, timelineOf(client), clock)) ?? 1
    } catch {
      return 0
    } finally {
      await within(CLOSE_MS, client.end(), clock).catch(() => undefined)
    }
  }

  /** The same one for the same text everywhere: a pooler gives several instances one connection. */
  function nameOf(text: string): string {
    let name = names.get(text)
    if (name === undefined) {
      name = createHash('sha256').update(text).digest('base64').slice(0, 20)
      names.set(text, name)
    }
    return name
  }

  function renewPools(): void {
    const before = pools
    pools = openPools()
    for (const pool of Object.values(before)) pool.end().catch(() => undefined)
  }

  function planProbe(): void {
    // One that is under way plans the next at its end: each may wait for long, and holds a connection meanwhile.
    if (!watched || closing !== undefined || probing !== undefined) return
    planned ??= clock.after(AGAIN_MS, () => {
      planned = undefined
      void probe()
    })
  }

  function noteHealth(error: StoreError | undefined): void {
    if (closing !== undefined) return
    if (error) {
      planProbe()
      locate()
    }
    if (error && !said.has(error.code))
      log.error('store-write-failed', `${error.message} ${error.remedy} It is tried again by itself.`, { error })
    if (error) said.add(error.code)
    else {
      if (failing) log.info('store-write-recovered', 'Writing to the database works again.', { after: failing })
      said.clear()
    }
    failing = error?.code
  }

  function probe(): Promise<void> {
    watched = true
    locate()
    probing ??= tryToWrite().finally(() => {
      probing = undefined
      // As long as something is wrong, it is tried again.
      if (failing !== undefined) planProbe()
    })
    return probing
  }

  async function tryToWrite(): Promise<void> {
    try {
      await query(PROBE)
      noteHealth(undefined)
      if (newest > remembered) await rememberTimeline(newest)
    } catch (error) {
      // Here no statement of somebody's is at fault.
      if (closing === undefined) noteHealth(toStoreError(error))
    }
  }

  /** In the database too, or here alone where it has not the right to. */
  async function rememberTimeline(timeline: number): Promise<void> {
    await pools.forAll.query(REMEMBER_TIMELINE, [timeline]).catch(() => undefined)
    remembered = timeline
  }

  async function onOwnConnection<T>(work: (one: OwnConnection) => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new StoreError('store_closed')
    const socket = openSocket()
    const client = new Client({ ...config, ...hosts[at], stream: () => socket })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await within(ANSWER_MS, admit(client, OWN_SESSION), clock)
      return await work({
        query: async <Row>(text: string, values: readonly SqlValue[] = [], answerMs = OWN_ANSWER_MS) =>
          (await within(answerMs, client.query({ text, values: [...values] }), clock)).rows as readonly Row[],
        run: async (text, answerMs = OWN_ANSWER_MS) => void (await within(answerMs, client.query(text), clock)),
      })
    } catch (cause) {
      const error = toStoreError(cause)
      if (FAULTS.has(error.code)) noteHealth(error)
      throw error
    } finally {
      // Whoever has fallen silent does not answer a good-bye either.
      await within(CLOSE_MS, client.end(), clock).catch(() => undefined)
      socket.destroy()
    }
  }

  function listen(channel: string, heard: () => void): void {
    const create = () => {
      const socket = openSocket()
      const client = new Client({ ...config, ...hosts[at], stream: () => socket })
      return { client, destroy: () => void socket.destroy() }
    }
    stopListening.push(listenTo(channel, heard, create, clock))
  }

  function close(): Promise<void> {
    closing ??= shutDown()
    return closing
  }

  async function shutDown(): Promise<void> {
    planned?.cancel()
    const ended = Promise.all([pools.forAll.end(), pools.forReads.end(), ...stopListening.map((stop) => stop())])
    const late = new Promise<void>((resolve) => {
      const timer = clock.after(CLOSE_MS, resolve)
      void ended.catch(() => undefined).finally(() => timer.cancel())
    })
    await Promise.race([ended, late]).catch(() => undefined)
    for (const socket of sockets) socket.destroy()
  }

  return {
    query,
    read,
    onOwnConnection,
    listen,
    timeline: () => newest,
    fault: () => failing,
    probe,
    close,
  }
}

type HostConfig = DatabaseAddress & Pick<pg.ClientConfig, 'ssl'>

function hostsOf({ database, databaseTls }: PostgresSettings): Promise<readonly HostConfig[]> {
  return Promise.all(
    readAddresses(database).map(async (host) => ({ ...host, ssl: await tlsTo(host, databaseTls.caFile) })),
  )
}

/** Whether the next statement there need not wait for one that is under way. */
function hasRoom({ waitingCount, idleCount, totalCount, options }: pg.Pool): boolean {
  return waitingCount < idleCount + options.max - totalCount
}
