import type { Clock, Timer } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import type { Connection, Queries } from './connection.ts'
import type { Database, Transaction, Write } from './database.ts'
import { toStoreError } from './sqlite-error.ts'
import { TransactionRunner, type WaitingWrite } from './transaction-runner.ts'
import { WriteHealth } from './write-health.ts'

// Limit of rows per transaction. Larger transactions need fewer syncs, but delay reads: 1000 rows take 15 to 50 ms.
const TRANSACTION_ROWS = 1000
const READS_IN_A_ROW = 100
// Limit of waiting rows: several seconds of a flood of messages. Beyond it, calls reject, because otherwise memory
// would fill up.
const WAITING_ROWS = 50_000
const WAITING_READS = 10_000
const CLOSE_LIMIT_MS = 3000

// The probe writes the same pages as storing a message does. It reserves a stamp, inserts a row with this stamp, and
// deletes the row.
const PROBE = [
  'UPDATE state SET reserved_time = reserved_time + 1',
  "INSERT INTO message (time, station, source, seq_id, text, received_at) SELECT reserved_time, '', '', '', x'', 0 FROM state",
  'DELETE FROM message WHERE time = (SELECT reserved_time FROM state)',
]

interface WaitingRead {
  run(): Promise<void>
  reject(error: StoreError): void
}

/** Opens the queue in front of `connection`. Closing the queue closes the connection. */
export function groupCommits(connection: Connection, clock: Clock, log: Log): Database {
  return new GroupCommits(connection, clock, log)
}

/**
 * The queue in front of the connection.
 *
 * While any call waits, the queue works in rounds: one transaction of waiting writes, then waiting reads, both limited
 * in size, then one bulky read. Writes are performed in the order of the calls. Calls above the limits reject with
 * `store_overloaded`.
 *
 * {@link TransactionRunner} runs the transactions. {@link WriteHealth} tracks whether they succeed.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class GroupCommits implements Database {
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #log: Log
  readonly #runner: TransactionRunner
  readonly #health: WriteHealth
  readonly #writes: WaitingWrite[] = []
  readonly #reads: WaitingRead[] = []
  readonly #bulkyReads: WaitingRead[] = []
  #waitingRows = 0
  #working: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(connection: Connection, clock: Clock, log: Log) {
    this.#connection = connection
    this.#clock = clock
    this.#log = log
    this.#health = new WriteHealth({ probe: () => void this.probe(), clock, log })
    this.#runner = new TransactionRunner(connection, (error) => this.#health.note(error))
  }

  readonly assertOpen = (): void => {
    if (this.#closing !== undefined) throw new StoreError('store_closed')
  }

  readonly fault = () => this.#health.fault

  readonly probe = (): Promise<void> => {
    if (this.#closing !== undefined) return Promise.resolve()
    const kind: Write<unknown, unknown> = {
      async run(tx, inputs) {
        for (const sql of PROBE) await tx.all(sql)
        return inputs
      },
    }
    return new Promise((done) => {
      this.#enqueue({ kind, input: undefined, rows: 1, resolve: () => done(), reject: () => done() })
    })
  }

  readonly write = async <In, Out>(kind: Write<In, Out>, input: In): Promise<Out> => {
    this.assertOpen()
    const rows = kind.weight?.(input) ?? 1
    if (this.#waitingRows > 0 && this.#waitingRows + rows > WAITING_ROWS) throw new StoreError('store_overloaded')
    return new Promise<Out>((resolve, reject) => {
      this.#enqueue({ kind, input, rows, resolve: (output) => resolve(output as Out), reject } as WaitingWrite)
    })
  }

  readonly read: Database['read'] = async (query) => this.#enqueueRead(this.#reads, query)

  readonly readBehind: Database['readBehind'] = async (query) => this.#enqueueRead(this.#bulkyReads, query)

  readonly close: Database['close'] = (last) => {
    this.#closing ??= this.#shutDown(last)
    return this.#closing
  }

  #enqueue(write: WaitingWrite): void {
    this.#writes.push(write)
    this.#waitingRows += write.rows
    this.#wake()
  }

  #enqueueRead<T>(queue: WaitingRead[], query: (queries: Queries) => Promise<T>): Promise<T> {
    this.assertOpen()
    if (queue.length >= WAITING_READS) throw new StoreError('store_overloaded')
    return new Promise<T>((resolve, reject) => {
      const run = () => query(this.#connection).then(resolve, (error: unknown) => reject(toStoreError(error)))
      queue.push({ run, reject })
      this.#wake()
    })
  }

  #wake(): void {
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    await Promise.resolve() // lets the caller first add all its writes, so that they share a transaction
    while (this.#writes.length > 0 || this.#reads.length > 0 || this.#bulkyReads.length > 0) {
      if (this.#writes.length > 0) await this.#runner.commit(this.#takeBatch())
      for (const read of this.#reads.splice(0, READS_IN_A_ROW)) await read.run()
      await this.#bulkyReads.shift()?.run()
    }
    // No `await` follows the last check of the queues, so no call is missed: the next call starts a new round.
    this.#working = undefined
  }

  #takeBatch(): readonly WaitingWrite[] {
    let rows = 0
    let count = 0
    for (const write of this.#writes) {
      if (count > 0 && rows + write.rows > TRANSACTION_ROWS) break
      rows += write.rows
      count += 1
    }
    this.#waitingRows -= rows
    return this.#writes.splice(0, count)
  }

  async #shutDown(last: (tx: Transaction) => Promise<void>): Promise<void> {
    this.#health.close()
    let timer: Timer | undefined
    const tooLate = new Promise<void>((resolve) => {
      timer = this.#clock.after(CLOSE_LIMIT_MS, () => {
        this.#rejectAll()
        this.#log.warn(
          'store-close-late',
          'The database did not finish in time, so waiting reads and writes were dropped. Nothing that was acknowledged is lost.',
        )
        resolve()
      })
    })
    await Promise.race([this.#finish(last), tooLate])
    timer?.cancel()
  }

  #rejectAll(): void {
    const error = new StoreError('store_closed')
    const waiting = [...this.#writes.splice(0), ...this.#reads.splice(0), ...this.#bulkyReads.splice(0)]
    for (const { reject } of waiting) reject(error)
  }

  async #finish(last: (tx: Transaction) => Promise<void>): Promise<void> {
    await this.#working
    await new Promise<void>((resolve, reject) => {
      // `last` runs several statements, so all of them need an explicit transaction. Therefore `tx.last` is replaced by
      // `tx.all`.
      const kind: Write<unknown, unknown> = { run: async (tx) => [await last({ ...tx, last: tx.all })] }
      void this.#runner.commit([{ kind, input: undefined, rows: 1, resolve: () => resolve(), reject }])
    }).catch((error: unknown) => {
      this.#log.warn(
        'store-close-unclean',
        'The database was closed without its final write. No message is lost, but phones may be notified again.',
        {
          error,
        },
      )
    })
    await this.#connection.close().catch((error: unknown) => {
      this.#log.warn('store-close-failed', 'The database could not be closed; this loses nothing.', { error })
    })
  }
}
