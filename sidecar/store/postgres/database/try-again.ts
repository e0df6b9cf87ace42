import type { Clock } from '../../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import { REFUSALS } from './postgres-error.ts'

const TRY_AGAIN_MS = 100

/**
 * Does `work` until it succeeds or fails for something else than a database that is away, until the elapsed time
 * `until`. It may have been carried out each time; `onRetry` is called before each try but the first. Rejects with what
 * it failed for last.
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

/** The database is away, or another server is taking its place; there it may be short of connections for a while. */
const PASSING: ReadonlySet<StoreErrorCode> = new Set([
  'database_unreachable',
  'database_read_only',
  'database_older',
  ...REFUSALS,
])
/** Deadlock, and what could not be put in order: the other side goes on, and so does the next try. */
const IN_THE_WAY = new Set(['40001', '40P01'])

/** Whether the same statement may well succeed in a moment. It may have been carried out, too. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false
  if (PASSING.has(error.code)) return true
  const { cause } = error
  return cause instanceof Error && 'code' in cause && IN_THE_WAY.has(String(cause.code))
}
