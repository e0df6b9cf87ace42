import fc from 'fast-check'
import { mutated } from './mutated.ts'
import type { Target } from './target.ts'

export interface FuzzOptions {
  /** The same seed tries the same inputs. */
  readonly seed: number
  readonly inputs: number
  /** Time limit in milliseconds. Default: none. */
  readonly limitMs?: number
}

export interface FuzzOutcome {
  /** How many inputs were tried. */
  readonly tried: number
  /** The smallest input found that breaks something, and what it broke. */
  readonly broken?: { readonly input: Buffer; readonly what: string }
}

/** Tries inputs on a target until one breaks something, all are tried, or the time is up. */
export async function fuzz(target: Target, { seed, inputs, limitMs }: FuzzOptions): Promise<FuzzOutcome> {
  const subject = await target.open()
  let tried = 0
  try {
    const property = fc.asyncProperty(mutated(target.samples), async (input) => {
      tried++
      await subject.check(input)
    })
    const limit = limitMs === undefined ? {} : { interruptAfterTimeLimit: limitMs, markInterruptAsFailure: false }
    const result = await fc.check(property, { seed, numRuns: inputs, ...limit })
    const [input] = result.counterexample ?? []
    if (!result.failed || !input) return { tried }
    const { errorInstance } = result
    const problem = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
    return { tried, broken: { input: Buffer.from(input), what: problem } }
  } finally {
    await subject.close()
  }
}
