import { createHash } from 'node:crypto'
import type pg from 'pg'
import { StoreError } from '../../../errors.ts'
import { toStoreError } from './postgres-error.ts'
import type { SqlValue } from './sql-values.ts'

/** Limit of connections for statements of any kind. */
const MOST_STATEMENTS = 4
/**
 * Limit of additional connections for statements that only read. Writes that wait for a row or a standby may occupy all
 * other connections.
 */
const MOST_READS = 2
/** Limit of statements that wait for a connection, per pool. */
const MOST_WAITING = 10_000

interface StatementPoolsParts {
  /** Opens a pool of at most `max` connections to the current primary. */
  readonly openPool: (max: number) => pg.Pool
  /** Called when a statement failed. */
  readonly onError: (error: StoreError) => void
}

interface Pools {
  readonly forAll: pg.Pool
  readonly forReads: pg.Pool
}

/**
 * Runs statements in two pools. One is only for reads, so that waiting writes never delay them. Reads also use the
 * other while it has a free connection.
 */
export class StatementPools {
  readonly #parts: StatementPoolsParts
  readonly #names = new Map<string, string>()
  #pools: Pools
  #isClosed = false

  constructor(parts: StatementPoolsParts) {
    this.#parts = parts
    this.#pools = this.#open()
  }

  query<Row>(text: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    return this.#runIn(this.#pools.forAll, text, values)
  }

  read<Row>(text: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    const { forAll, forReads } = this.#pools
    return this.#runIn(hasRoom(forAll) && !hasRoom(forReads) ? forAll : forReads, text, values)
  }

  /** Runs a statement, and ignores its error. */
  async attempt(text: string, values: readonly SqlValue[]): Promise<void> {
    await this.#pools.forAll.query(text, [...values]).catch(() => undefined)
  }

  /** Replaces the pools by new ones to the current primary. Statements in progress finish on the old ones. */
  renew(): void {
    const former = this.#pools
    this.#pools = this.#open()
    for (const pool of [former.forAll, former.forReads]) pool.end().catch(() => undefined)
  }

  /** Rejects new statements. Resolves when the connections are closed. */
  close(): Promise<unknown> {
    this.#isClosed = true
    return Promise.all([this.#pools.forAll.end(), this.#pools.forReads.end()])
  }

  #open(): Pools {
    const { openPool } = this.#parts
    return { forAll: openPool(MOST_STATEMENTS), forReads: openPool(MOST_READS) }
  }

  async #runIn<Row>(pool: pg.Pool, text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    if (this.#isClosed) throw new StoreError('store_closed')
    if (pool.waitingCount >= MOST_WAITING) throw new StoreError('store_overloaded')
    const pools = this.#pools
    try {
      return (await pool.query({ name: this.#nameOf(text), text, values: [...values] })).rows as readonly Row[]
    } catch (cause) {
      const error = toStoreError(cause)
      // The server has become a standby. A new connection to its host name reaches the new primary, now or soon.
      if (error.code === 'database_read_only' && pools === this.#pools) this.renew()
      this.#parts.onError(error)
      throw error
    }
  }

  /**
   * Names a prepared statement by a hash of its text, so that all instances use the same name. A pooler may share a
   * session among instances.
   */
  #nameOf(text: string): string {
    let name = this.#names.get(text)
    if (name === undefined) {
      name = createHash('sha256').update(text).digest('base64').slice(0, 20)
      this.#names.set(text, name)
    }
    return name
  }
}

/** Returns whether the pool can run another statement at once. */
function hasRoom({ waitingCount, idleCount, totalCount, options }: pg.Pool): boolean {
  return waitingCount < idleCount + options.max - totalCount
}
