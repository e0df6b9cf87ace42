import { setImmediate as endOfTurn, setTimeout as pause } from 'node:timers/promises'
import { StoreError } from '../../../errors.ts'

interface Waiting<In, Out> {
  readonly input: In
  readonly weight: number
  resolve(output: Out): void
  reject(error: unknown): void
}

interface BatchOptions<In, Out> {
  /**
   * Handles several inputs in one statement. Resolves with one output per input, in the same order. If it rejects,
   * `add` rejects for all of these inputs.
   */
  readonly run: (inputs: readonly In[]) => Promise<readonly Out[]>
  /** Limit of a statement's inputs, as a sum of {@link weight}. A single input may exceed it. */
  readonly most: number
  /** Limit of the number of statements in progress. */
  readonly parallel: number
  /** Limit of the waiting inputs, as a sum of {@link weight}. Beyond it, `add` rejects with `store_overloaded`. */
  readonly mostWaiting: number
  /** Returns the number of rows that an input needs; 1 by default. */
  readonly weight?: (input: In) => number
  /**
   * Milliseconds for which the next statement waits for more inputs; 0 by default. It does not wait once the queued
   * inputs fill a statement.
   */
  readonly gatherMs?: number
}

/** A queue of inputs for statements. Inputs that arrive while statements are in progress share a later statement. */
export interface Batches<In, Out> {
  add(input: In): Promise<Out>
  /** Resolves when no input waits and no statement is in progress. */
  idle(): Promise<void>
}

/** Opens an empty queue of inputs for SQL statements. */
export function openBatches<In, Out>(options: BatchOptions<In, Out>): Batches<In, Out> {
  return new QueuedBatches(options)
}

/**
 * The queue of inputs. An input starts a statement at once, with all inputs of the same turn, unless `parallel`
 * statements are in progress. Then it waits until one ends, and up to `gatherMs` longer.
 */
class QueuedBatches<In, Out> implements Batches<In, Out> {
  readonly #options: BatchOptions<In, Out>
  readonly #queue: Waiting<In, Out>[] = []
  readonly #inProgress = new Set<Promise<void>>()
  #waitingWeight = 0
  #isStarting = false

  constructor(options: BatchOptions<In, Out>) {
    this.#options = options
  }

  add(input: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      const { weight = () => 1, mostWaiting } = this.#options
      const rows = weight(input)
      if (this.#waitingWeight > 0 && this.#waitingWeight + rows > mostWaiting)
        return reject(new StoreError('store_overloaded'))
      this.#waitingWeight += rows
      this.#queue.push({ input, weight: rows, resolve, reject })
      if (this.#isStarting) return
      this.#isStarting = true
      // Starts in a microtask, so that all inputs that the caller adds synchronously share a statement.
      queueMicrotask(() => this.#start())
    })
  }

  readonly idle = async (): Promise<void> => {
    // Waits until the inputs that were just added have started their statements. An input that is still queued after
    // that waits for a statement in progress.
    await Promise.resolve()
    while (this.#inProgress.size > 0) await Promise.race(this.#inProgress)
  }

  #start(): void {
    this.#isStarting = false
    while (this.#queue.length > 0 && this.#inProgress.size < this.#options.parallel) {
      const done: Promise<void> = this.#handle(this.#take(), () => {
        this.#inProgress.delete(done)
        this.#start()
      })
      this.#inProgress.add(done)
    }
  }

  #take(): readonly Waiting<In, Out>[] {
    let weight = 0
    let count = 0
    for (const waiting of this.#queue) {
      if (count > 0 && weight + waiting.weight > this.#options.most) break
      weight += waiting.weight
      count += 1
    }
    this.#waitingWeight -= weight
    return this.#queue.splice(0, count)
  }

  async #handle(batch: readonly Waiting<In, Out>[], onEnd: () => void): Promise<void> {
    const { run, most, gatherMs = 0 } = this.#options
    const settle = await run(batch.map(({ input }) => input)).then(
      (outputs) => () => batch.forEach((waiting, index) => void waiting.resolve(outputs[index] as Out)),
      (error: unknown) => () => batch.forEach((waiting) => void waiting.reject(error)),
    )
    if (gatherMs === 0 || this.#waitingWeight >= most) {
      // Starts the next statement before the callers of the ended one get their outputs, so that the database is never
      // idle.
      onEnd()
      if (this.#inProgress.size > 0) await endOfTurn()
      settle()
    } else {
      settle()
      await pause(gatherMs)
      onEnd()
    }
  }
}
