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
   * Handles several inputs in one statement; one output each, in the same order. When it rejects, so do all of them.
   */
  readonly run: (inputs: readonly In[]) => Promise<readonly Out[]>
  /** How much one statement may carry, in {@link weight}; a single input may weigh more. */
  readonly most: number
  /** How many statements may be under way. */
  readonly parallel: number
  /** How much may wait for its turn. Beyond it callers are refused with `store_overloaded`. */
  readonly mostWaiting: number
  /** How many rows an input stands for; 1 where this is absent. */
  readonly weight?: (input: In) => number
  /**
   * For how many milliseconds more may gather before the statement that follows one, unless that was full; none where
   * this is absent.
   */
  readonly gatherMs?: number
}

/** What came while statements were under way shares the next one. Whoever comes when none is waits for no company. */
export interface Batches<In, Out> {
  add(input: In): Promise<Out>
  /** Resolves when nothing waits nor is under way any more. */
  idle(): Promise<void>
}

export function openBatches<In, Out>(options: BatchOptions<In, Out>): Batches<In, Out> {
  const { run, most, parallel, mostWaiting, weight = () => 1, gatherMs = 0 } = options
  const queue: Waiting<In, Out>[] = []
  const underWay = new Set<Promise<void>>()
  let waiting = 0
  let starting = false

  function start(): void {
    starting = false
    while (queue.length > 0 && underWay.size < parallel) {
      const done: Promise<void> = handle(take(), () => {
        underWay.delete(done)
        start()
      })
      underWay.add(done)
    }
  }

  function take(): readonly Waiting<In, Out>[] {
    let weighs = 0
    let count = 0
    for (const one of queue) {
      if (count > 0 && weighs + one.weight > most) break
      weighs += one.weight
      count += 1
    }
    waiting -= weighs
    return queue.splice(0, count)
  }

  async function handle(batch: readonly Waiting<In, Out>[], ended: () => void): Promise<void> {
    const settled = await run(batch.map(({ input }) => input)).then(
      (outputs) => () => batch.forEach((one, index) => void one.resolve(outputs[index] as Out)),
      (error: unknown) => () => batch.forEach((one) => void one.reject(error)),
    )
    if (gatherMs === 0 || waiting >= most) {
      // The next one leaves first: so the database is at work while those of this one take what is theirs.
      ended()
      if (underWay.size > 0) await endOfTurn()
      settled()
    } else {
      settled()
      await pause(gatherMs)
      ended()
    }
  }

  return {
    add: (input) =>
      new Promise((resolve, reject) => {
        const rows = weight(input)
        if (waiting > 0 && waiting + rows > mostWaiting) return reject(new StoreError('store_overloaded'))
        waiting += rows
        queue.push({ input, weight: rows, resolve, reject })
        if (starting) return
        starting = true
        // Lets the caller finish: what it brings at once goes together.
        queueMicrotask(start)
      }),
    async idle() {
      // Whatever waits begins in the same breath, or behind what is under way.
      await Promise.resolve()
      while (underWay.size > 0) await Promise.race(underWay)
    },
  }
}
