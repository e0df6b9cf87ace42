import type { Clock, Timer } from '../../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import type { Connection, Queries, SqlValue } from './connection.ts'
import { toStoreError } from './sqlite-error.ts'

/**
 * A transaction in progress, begun when it first writes. Effects on memory wait for its end, or are taken back when it
 * fails, so that memory never knows more than the disk.
 */
export interface Transaction extends Queries {
  /** A query that changes nothing. */
  look<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  /**
   * The last statement of a {@link Write.run}. Where it is the only one, it is a transaction by itself, which saves two
   * trips to a thread.
   */
  last<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  onCommit(effect: () => void): void
  /** The last one first, so that each meets what it left. */
  onRollback(effect: () => void): void
}

/** One kind of write. Has to stand being run again after a rollback. */
export interface Write<In, Out> {
  /** Handles `inputs`, neighbours in the queue, in order; one result each, in the same order. */
  run(tx: Transaction, inputs: readonly In[]): Promise<readonly Out[]>
  /** How many rows an input stands for; 1 where this is absent. */
  weight?(input: In): number
}

/**
 * The only way to the connection: one transaction at a time, each with all the writes that wait when it starts (group
 * commit). Nobody waits for company: with an idle disk a lone write starts at once. While one transaction is synced to
 * disk, the next ones gather, so that the busier it gets, the more share the cost of a sync.
 *
 * Between two transactions the waiting reads run, on committed data alone. Whatever is written in a later transaction
 * gets its stamp later than those reads got theirs.
 */
export interface Database {
  /** Resolves once it is durable. Writes are done in the order of the calls. Rejects with a {@link StoreError}. */
  write<In, Out>(kind: Write<In, Out>, input: In): Promise<Out>
  read<T>(query: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * As {@link read}, for bulky reads that may wait: one runs between two rounds of the queue, so that writes and other
   * reads wait for one at most. To be split into queries of about a millisecond.
   */
  readBehind<T>(query: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * Why the last transaction failed; undefined when it did not. While it did, one that changes next to nothing is tried
   * by and by.
   */
  fault(): StoreErrorCode | undefined
  /** Finds out whether a write works now, which {@link fault} then says. Never rejects. */
  probe(): Promise<void>
  /** Throws `store_closed` after {@link close} was called. */
  assertOpen(): void
  /**
   * Takes nothing more, finishes what waits (in 3 s at most, the rest is rejected), runs `last`, and closes the file.
   */
  close(last: (tx: Transaction) => Promise<void>): Promise<void>
}

// Longer transactions sync less often, but a read waits for the whole of one. 1000 rows take 15 to 50 ms.
const TRANSACTION_ROWS = 1000
const READS_IN_A_ROW = 100
// Several seconds of a flood. Past it the callers have to slow down, or memory grows without end.
const WAITING_ROWS = 50_000
const WAITING_READS = 10_000
const CLOSE_LIMIT_MS = 3000
// With senders gone quiet nobody else would find out that the disk has room again.
const PROBE_EVERY_MS = 5000

// What a message writes: a stamp, here one that nobody has, and a row where the next one comes, which is taken away
// again.
const PROBE = [
  'UPDATE state SET reserved_time = reserved_time + 1',
  "INSERT INTO message (time, station, source, seq_id, text, received_at) SELECT reserved_time, '', '', '', x'', 0 FROM state",
  'DELETE FROM message WHERE time = (SELECT reserved_time FROM state)',
]

interface WaitingWrite {
  readonly kind: Write<unknown, unknown>
  readonly input: unknown
  readonly rows: number
  resolve(output: unknown): void
  reject(error: StoreError): void
}

interface WaitingRead {
  run(): Promise<void>
  reject(error: StoreError): void
}

/** Puts the queue in front of `connection`, which it closes at the end. */
export function groupCommits(connection: Connection, clock: Clock, log: Log): Database {
  const writes: WaitingWrite[] = []
  const reads: WaitingRead[] = []
  const bulkyReads: WaitingRead[] = []
  let waitingRows = 0
  let working: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let failing: StoreErrorCode | undefined
  let probing: Timer | undefined
  /**
   * A rollback that failed with the disk has left its transaction open, maybe: what is written now would be part of
   * that one.
   */
  let leftOpen = false

  function assertOpen(): void {
    if (closing !== undefined) throw new StoreError('store_closed')
  }

  function wake(): void {
    working ??= work()
  }

  async function work(): Promise<void> {
    await Promise.resolve() // lets the caller finish: lines that arrived in one chunk are written in one transaction
    while (writes.length > 0 || reads.length > 0 || bulkyReads.length > 0) {
      if (writes.length > 0) await commit(takeBatch())
      for (const read of reads.splice(0, READS_IN_A_ROW)) await read.run()
      await bulkyReads.shift()?.run()
    }
    // In the same breath as the last look at the queues: whoever comes now starts the next round.
    working = undefined
  }

  function takeBatch(): readonly WaitingWrite[] {
    let rows = 0
    let count = 0
    for (const write of writes) {
      if (count > 0 && rows + write.rows > TRANSACTION_ROWS) break
      rows += write.rows
      count += 1
    }
    waitingRows -= rows
    return writes.splice(0, count)
  }

  async function commit(batch: readonly WaitingWrite[]): Promise<void> {
    const committed: (() => void)[] = []
    const rolledBack: (() => void)[] = []
    const groups = groupsOfOneKind(batch)
    let begun: Promise<void> | undefined
    const beginOnce = (): Promise<void> => {
      begun ??= begin()
      return begun
    }
    const tx: Transaction = {
      async all(sql, ...values) {
        await beginOnce()
        return connection.all(sql, ...values)
      },
      look: connection.all,
      async last(sql, ...values) {
        if (groups.length > 1 || leftOpen) await beginOnce()
        return connection.all(sql, ...values)
      },
      onCommit: (effect) => committed.push(effect),
      onRollback: (effect) => rolledBack.push(effect),
    }
    const outputs: unknown[] = []
    try {
      for (const group of groups) {
        for (const output of await group.kind.run(tx, group.inputs)) outputs.push(output)
      }
      if (begun !== undefined) await connection.all('COMMIT')
    } catch (cause) {
      if (begun !== undefined) await rollBack()
      for (const effect of rolledBack.reverse()) effect()
      const error = toStoreError(cause)
      if (error.code === 'store_fault' && batch.length > 1) {
        // One of them is at fault, not the disk. Alone, only that one fails.
        for (const write of batch) await commit([write])
        return
      }
      noteHealth(error)
      for (const write of batch) write.reject(error)
      // Pages that the log holds and the file has room for: moved there, the log starts over and needs no more space.
      if (error.code === 'disk_full') await connection.all('PRAGMA wal_checkpoint(PASSIVE)').catch(() => undefined)
      return
    }
    noteHealth(undefined)
    for (const effect of committed) effect()
    for (const [index, write] of batch.entries()) write.resolve(outputs[index])
  }

  async function begin(): Promise<void> {
    if (leftOpen) await rollBack()
    await connection.all('BEGIN IMMEDIATE')
    leftOpen = false
  }

  async function rollBack(): Promise<void> {
    try {
      await connection.all('ROLLBACK')
      leftOpen = false
    } catch {
      leftOpen = true // maybe: after most disk errors SQLite has already done it
    }
  }

  function noteHealth(error: StoreError | undefined): void {
    if (error && closing === undefined) probing ??= clock.after(PROBE_EVERY_MS, probeAgain)
    if (error?.code === failing) return
    if (error) log.error('store-write-failed', `${error.message} ${error.remedy}`, { error })
    else log.info('store-write-recovered', 'Writing to the database works again.', { after: failing })
    failing = error?.code
  }

  function probeAgain(): void {
    probing = undefined
    if (failing !== undefined) void probe()
  }

  function probe(): Promise<void> {
    if (closing !== undefined) return Promise.resolve()
    const kind: Write<unknown, unknown> = {
      async run(tx, inputs) {
        for (const sql of PROBE) await tx.all(sql)
        return inputs
      },
    }
    return new Promise((done) => {
      enqueue({ kind, input: undefined, rows: 1, resolve: () => done(), reject: () => done() })
    })
  }

  function enqueueRead<T>(queue: WaitingRead[], query: (queries: Queries) => Promise<T>): Promise<T> {
    assertOpen()
    if (queue.length >= WAITING_READS) throw new StoreError('store_overloaded')
    return new Promise<T>((resolve, reject) => {
      const run = () => query(connection).then(resolve, (error: unknown) => reject(toStoreError(error)))
      queue.push({ run, reject })
      wake()
    })
  }

  function enqueue(write: WaitingWrite): void {
    writes.push(write)
    waitingRows += write.rows
    wake()
  }

  async function shutDown(last: (tx: Transaction) => Promise<void>): Promise<void> {
    let timer: ReturnType<Clock['after']> | undefined
    const tooLate = new Promise<void>((resolve) => {
      timer = clock.after(CLOSE_LIMIT_MS, () => {
        const error = new StoreError('store_closed')
        for (const waiting of [...writes.splice(0), ...reads.splice(0), ...bulkyReads.splice(0)]) waiting.reject(error)
        log.warn('store-close-late', 'The database did not finish in time; what was still waiting is not stored.')
        resolve()
      })
    })
    await Promise.race([finish(last), tooLate])
    timer?.cancel()
  }

  async function finish(last: (tx: Transaction) => Promise<void>): Promise<void> {
    await working
    await new Promise<void>((resolve, reject) => {
      // Several writes one after the other, none of which is the last one: a transaction for all of them.
      const kind: Write<unknown, unknown> = { run: async (tx) => [await last({ ...tx, last: tx.all })] }
      void commit([{ kind, input: undefined, rows: 1, resolve: () => resolve(), reject }])
    }).catch((error: unknown) => {
      log.warn('store-close-unclean', 'The database was closed without its last entry; this loses nothing.', { error })
    })
    await connection.close().catch((error: unknown) => {
      log.warn('store-close-failed', 'The database could not be closed; this loses nothing.', { error })
    })
  }

  return {
    assertOpen,
    fault: () => failing,
    probe,
    async write<In, Out>(kind: Write<In, Out>, input: In): Promise<Out> {
      assertOpen()
      const rows = kind.weight?.(input) ?? 1
      if (waitingRows > 0 && waitingRows + rows > WAITING_ROWS) throw new StoreError('store_overloaded')
      return new Promise<Out>((resolve, reject) => {
        enqueue({ kind, input, rows, resolve: (output) => resolve(output as Out), reject })
      })
    },
    read: async (query) => enqueueRead(reads, query),
    readBehind: async (query) => enqueueRead(bulkyReads, query),
    close(last) {
      probing?.cancel()
      closing ??= shutDown(last)
      return closing
    },
  }
}

/** What `handle` makes of each of `inputs`, one after the other. */
export async function eachInTurn<In, Out>(
  inputs: readonly In[],
  handle: (input: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const outputs: Out[] = []
  for (const input of inputs) outputs.push(await handle(input))
  return outputs
}

interface Group {
  readonly kind: Write<unknown, unknown>
  readonly inputs: unknown[]
}

function groupsOfOneKind(batch: readonly WaitingWrite[]): readonly Group[] {
  const groups: Group[] = []
  for (const { kind, input } of batch) {
    const latest = groups.at(-1)
    if (latest?.kind === kind) latest.inputs.push(input)
    else groups.push({ kind, inputs: [input] })
  }
  return groups
}
