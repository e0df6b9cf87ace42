import { setImmediate as endOfTurn, setTimeout as pause } from 'node:timers/promises'
import { StoreError } from '../../../errors.ts'

interface Waiting<In, Out> {
  readonly input: In
  readonly weight: number
  resolve(output: Out): void
  reject(error: unknown): void
}

interface BatchOptions<In, Out> {
  /** Handles several inputs in one statement. Resolves with one output each, in the same order; may reject all. */
  readonly run: (inputs: readonly In[]) => Promise<readonly Out[]>
  /** How much one statement may have, in {@link weight}. A single input may weigh more. */
  readonly most: number
  /** How many statements may be in progress. */
  readonly parallel: number
  /** How much may wait. Above that, callers are refused with `store_overloaded`. */
  readonly mostWaiting: number
  /** The number of rows that an input stands for; 1 by default. */
  readonly weight?: (input: In) => number
  /**
   * How many milliseconds a statement waits for more inputs after the one before, unless that was full; 0 by default.
   */
  readonly gatherMs?: number
}

/** Inputs that arrive while statements are in progress share the next statement. */
export interface Batches<In, Out> {
  add(input: In): Promise<Out>
  /** Resolves when no input waits and no statement is in progress. */
  idle(): Promise<void>
}

/** Opens an empty queue. */
export function openBatches<In, Out>(options: BatchOptions<In, Out>): Batches<In, Out> {
  return new QueuedBatches(options)
}

/**
 * The queue of inputs. Without a statement in progress, an input starts one at once, with the others that the caller
 * adds in the same turn. Otherwise it waits until fewer statements than `parallel` are in progress.
 *
 * A statement that ends starts the next one before its own callers get their outputs, so that the database works
 * meanwhile. With `gatherMs`, its callers get their outputs first, and the next statement waits, unless enough for a
 * full one waits already.
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
      // Lets the caller finish: what it adds at once goes together.
      queueMicrotask(() => this.#start())
    })
  }

  readonly idle = async (): Promise<void> => {
    // Lets statements begin that are about to. All other inputs wait for a statement in progress.
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
      // The next statement leaves first.
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
