import type { Clock } from './clock.ts'

/** What did not settle in time. */
export class TimeLimitError extends Error {
  constructor(limitMs: number) {
    super(`No result within ${limitMs} ms.`)
    this.name = 'TimeLimitError'
  }
}

/** `work`'s result, or a {@link TimeLimitError} after `limitMs` milliseconds. What `work` does later is nobody's concern. */
export function within<T>(limitMs: number, work: Promise<T>, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new TimeLimitError(limitMs)))
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}
