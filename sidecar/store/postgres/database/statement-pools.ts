import { createHash } from 'node:crypto'
import type pg from 'pg'
import { StoreError } from '../../../errors.ts'
import { toStoreError } from './postgres-error.ts'
import type { SqlValue } from './sql-values.ts'

/** Connections for statements of any kind. */
const MOST_STATEMENTS = 4
/**
 * Further connections for statements that only read. Any number of writes may wait for a row or a standby, and each
 * holds a connection meanwhile.
 */
const MOST_READS = 2
/** Statements that may wait for a connection. */
const MOST_WAITING = 10_000

interface StatementPoolsParts {
  /** Opens a pool of at most so many connections to the current primary. */
  readonly openPool: (max: number) => pg.Pool
  /** A statement failed. */
  readonly onError: (error: StoreError) => void
}

interface Pools {
  readonly forAll: pg.Pool
  readonly forReads: pg.Pool
}

/**
 * The pools in which statements run: one for all statements, and one for reads, so that writes that wait never hold up
 * a read. While nothing is stuck, reads use both.
 *
 * {@link renew} replaces the pools by new ones to the current primary; statements in progress end on the old ones.
 * After {@link close}, statements are refused with `store_closed`.
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

  renew(): void {
    const former = this.#pools
    this.#pools = this.#open()
    for (const pool of [former.forAll, former.forReads]) pool.end().catch(() => undefined)
  }

  /** Takes no more statements. Resolves when the connections are closed. */
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
      // The host name leads to another server now, or will soon.
      if (error.code === 'database_read_only' && pools === this.#pools) this.renew()
      this.#parts.onError(error)
      throw error
    }
  }

  /** Names a prepared statement by its text, because a pooler gives several instances one connection. */
  #nameOf(text: string): string {
    let name = this.#names.get(text)
    if (name === undefined) {
      name = createHash('sha256').update(text).digest('base64').slice(0, 20)
      this.#names.set(text, name)
    }
    return name
  }
}

/** Whether the next statement there would not wait for another one to end. */
function hasRoom({ waitingCount, idleCount, totalCount, options }: pg.Pool): boolean {
  return waitingCount < idleCount + options.max - totalCount
}
