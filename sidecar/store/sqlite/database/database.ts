import type { StoreErrorCode } from '../../../errors.ts'
import type { Queries, SqlValue } from './connection.ts'

/** A transaction, begun by its first write. Its commit changes memory too, which is never ahead of the disk. */
export interface Transaction extends Queries {
  /** Runs a query that changes nothing. Does not begin the transaction. */
  look<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  /**
   * Runs the last statement of a {@link Write.run}. If it is also the only statement, it runs without BEGIN and COMMIT,
   * which saves two round trips to a thread.
   */
  last<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  onCommit(effect: () => void): void
  /** Registers a function that undoes a change in memory. A rollback calls these functions in reverse order. */
  onRollback(effect: () => void): void
}

/** A kind of write, with the code that performs it. After a rollback, `run` may be called again. */
export interface Write<In, Out> {
  /**
   * Performs the writes with these `inputs`, which are neighbours in the queue, in order. Returns one result per input,
   * in the same order.
   */
  run(tx: Transaction, inputs: readonly In[]): Promise<readonly Out[]>
  /** Returns the number of rows that an input writes; 1 by default. */
  weight?(input: In): number
}

/**
 * The only access to the connection. One transaction runs at a time, with all writes that wait when it starts (group
 * commit). So under load, more writes share the cost of a sync.
 *
 * Reads run between transactions, so they see only committed data. A stamp issued in a read is older than those of
 * later transactions.
 */
export interface Database {
  /**
   * Performs a write. Resolves once it is durable. Writes are performed in the order of the calls. Rejects with a
   * `StoreError`.
   */
  write<In, Out>(kind: Write<In, Out>, input: In): Promise<Out>
  read<T>(query: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * Like {@link read}, for large reads. The queue runs one per round, so split them into queries of about a
   * millisecond.
   */
  readBehind<T>(query: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * Returns why the last transaction failed; undefined if it was committed. After a failure, a minimal transaction is
   * tried every few seconds.
   */
  fault(): StoreErrorCode | undefined
  /** Tries a minimal write and updates {@link fault}. Never rejects. */
  probe(): Promise<void>
  /** Throws `store_closed` after {@link close} was called. */
  assertOpen(): void
  /** Rejects new calls, finishes waiting calls within 3 s and rejects the rest, runs `last`, and closes the file. */
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
