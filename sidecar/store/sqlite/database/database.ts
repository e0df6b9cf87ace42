import type { StoreErrorCode } from '../../../errors.ts'
import type { Queries, SqlValue } from './connection.ts'

/**
 * A transaction in progress, which begins with its first write. Effects on memory wait for its commit, or are undone by
 * its rollback. So memory never knows more than the disk.
 */
export interface Transaction extends Queries {
  /** Runs a query that changes nothing. */
  look<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  /**
   * Runs the last statement of a {@link Write.run}. If it is the only one, it is a transaction by itself, which saves
   * two trips to a thread.
   */
  last<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  onCommit(effect: () => void): void
  /** Undoes the effects in reverse order, so that each meets what it left. */
  onRollback(effect: () => void): void
}

/** One kind of write. May run again after a rollback. */
export interface Write<In, Out> {
  /** Handles `inputs`, neighbours in the queue, in order. Returns one result each, in the same order. */
  run(tx: Transaction, inputs: readonly In[]): Promise<readonly Out[]>
  /** The number of rows that an input stands for; 1 by default. */
  weight?(input: In): number
}

/**
 * The only access to the connection. One transaction runs at a time, with all the writes that wait when it starts
 * (group commit). No write waits for others: with an idle disk, a lone write starts at once. While one transaction is
 * synced to disk, the next writes gather. So under load, more writes share the cost of a sync.
 *
 * Between two transactions, the waiting reads run, on committed data alone. What a later transaction writes gets its
 * stamp later than those reads got theirs.
 */
export interface Database {
  /** Resolves once it is durable. Writes are done in the order of the calls. Rejects with a `StoreError`. */
  write<In, Out>(kind: Write<In, Out>, input: In): Promise<Out>
  read<T>(query: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * As {@link read}, for large reads that may wait. One runs between two rounds of the queue, so that writes and other
   * reads wait for at most one. Split these reads into queries of about a millisecond.
   */
  readBehind<T>(query: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * Why the last transaction failed; undefined if it was committed. After a failure, a transaction that changes next to
   * nothing is tried regularly.
   */
  fault(): StoreErrorCode | undefined
  /** Finds out whether a write works now, for {@link fault}. Never rejects. */
  probe(): Promise<void>
  /** Throws `store_closed` after {@link close} was called. */
  assertOpen(): void
  /**
   * Takes no more calls, finishes what waits (in at most 3 s, the rest is rejected), runs `last`, and closes the file.
   */
  close(last: (tx: Transaction) => Promise<void>): Promise<void>
}

/** Handles `inputs` one after the other. Returns the results in the same order. */
export async function eachInTurn<In, Out>(
  inputs: readonly In[],
  handle: (input: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const outputs: Out[] = []
  for (const input of inputs) outputs.push(await handle(input))
  return outputs
}
