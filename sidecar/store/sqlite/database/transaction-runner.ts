import type { StoreError } from '../../../errors.ts'
import type { Connection } from './connection.ts'
import type { Transaction, Write } from './database.ts'
import { toStoreError } from './sqlite-error.ts'

/** A write in the queue. */
export interface WaitingWrite {
  readonly kind: Write<unknown, unknown>
  readonly input: unknown
  readonly rows: number
  resolve(output: unknown): void
  reject(error: StoreError): void
}

/** Consecutive writes of one kind, which are handled together. */
interface Group {
  readonly kind: Write<unknown, unknown>
  readonly inputs: unknown[]
}

/**
 * Runs batches of writes, one transaction per batch, one after the other.
 *
 * A commit applies the changes in memory and resolves the writes. If a transaction fails, it is rolled back, the
 * changes in memory are undone and the writes reject. If a statement failed rather than the disk, each write is retried
 * alone, so that only the faulty one fails.
 *
 * After a disk error, the rollback may fail too, and later writes would become part of the open transaction. So the
 * next transaction first rolls it back.
 */
export class TransactionRunner {
  readonly #connection: Connection
  readonly #onOutcome: (error: StoreError | undefined) => void
  #isLeftOpen = false

  /** `onOutcome` is called after each transaction: with its error, or with undefined if it was committed. */
  constructor(connection: Connection, onOutcome: (error: StoreError | undefined) => void) {
    this.#connection = connection
    this.#onOutcome = onOutcome
  }

  /** Runs a batch and settles each write's promise. The promise that `commit` returns never rejects. */
  async commit(batch: readonly WaitingWrite[]): Promise<void> {
    const committed: (() => void)[] = []
    const rolledBack: (() => void)[] = []
    const groups = groupsOfOneKind(batch)
    let begun: Promise<void> | undefined
    const begin = (): Promise<void> => {
      begun ??= this.#begin()
      return begun
    }
    const tx = this.#transaction(begin, groups.length === 1, committed, rolledBack)
    const outputs: unknown[] = []
    try {
      for (const { kind, inputs } of groups) for (const output of await kind.run(tx, inputs)) outputs.push(output)
      if (begun !== undefined) await this.#connection.all('COMMIT')
    } catch (cause) {
      if (begun !== undefined) await this.#rollBack()
      for (const undo of rolledBack.reverse()) undo()
      return this.#fail(batch, toStoreError(cause))
    }
    this.#onOutcome(undefined)
    for (const effect of committed) effect()
    for (const [index, write] of batch.entries()) write.resolve(outputs[index])
  }

  #transaction(
    begin: () => Promise<void>,
    isOneGroup: boolean,
    committed: (() => void)[],
    rolledBack: (() => void)[],
  ): Transaction {
    const { all } = this.#connection
    return {
      async all(sql, ...values) {
        await begin()
        return all(sql, ...values)
      },
      look: all,
      last: async (sql, ...values) => {
        if (!isOneGroup || this.#isLeftOpen) await begin()
        return all(sql, ...values)
      },
      onCommit: (effect) => committed.push(effect),
      onRollback: (effect) => rolledBack.push(effect),
    }
  }

  async #fail(batch: readonly WaitingWrite[], error: StoreError): Promise<void> {
    if (error.code === 'store_fault' && batch.length > 1) {
      // A single write caused the error, not the disk.
      for (const write of batch) await this.commit([write])
      return
    }
    this.#onOutcome(error)
    for (const write of batch) write.reject(error)
    // A checkpoint needs no space: the file already has the log's pages. Then SQLite reuses the log from its beginning.
    if (error.code === 'disk_full') await this.#connection.all('PRAGMA wal_checkpoint(PASSIVE)').catch(() => undefined)
  }

  async #begin(): Promise<void> {
    if (this.#isLeftOpen) await this.#rollBack()
    await this.#connection.all('BEGIN IMMEDIATE')
    this.#isLeftOpen = false
  }

  async #rollBack(): Promise<void> {
    try {
      await this.#connection.all('ROLLBACK')
      this.#isLeftOpen = false
    } catch {
      this.#isLeftOpen = true // an assumption: after most disk errors, SQLite has already rolled back
    }
  }
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
