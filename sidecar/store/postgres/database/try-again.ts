import type { Clock } from '../../../clock.ts'
import { isPassing } from './passing-failure.ts'

const TRY_AGAIN_MS = 100

/**
 * Does `work` until it succeeds or fails for something else than a database that is away, until the elapsed time `until`. It may have been
 * carried out each time; `onRetry` is called before each try but the first. Rejects with what it failed for last.
 */
export async function tryAgain<T>(
  work: () => Promise<T>,
  until: number,
  clock: Pick<Clock, 'elapsed' | 'after'>,
  onRetry: () => void = () => {},
): Promise<T> {
  while (true) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || clock.elapsed() + TRY_AGAIN_MS > until) throw error
      onRetry()
      await new Promise<void>((resolve) => clock.after(TRY_AGAIN_MS, resolve))
    }
  }
}
