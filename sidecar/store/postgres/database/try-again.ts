import type { Clock } from '../../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import { REFUSALS } from './postgres-error.ts'

const TRY_AGAIN_MS = 100

/**
 * Retries `work` while its errors are temporary, until the elapsed time `until`. A failed try may have taken effect.
 * Calls `onRetry` before each retry. Rejects with the last error.
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

/**
 * Errors while the database is unreachable or another server replaces it. The new server may lack free connections at
 * first.
 */
const PASSING: ReadonlySet<StoreErrorCode> = new Set([
  'database_unreachable',
  'database_read_only',
  'database_older',
  ...REFUSALS,
])
/** Serialization failure and deadlock: the other transaction continues, and the next try can succeed. */
const CONFLICTS = new Set(['40001', '40P01'])

/** Whether the same statement may succeed in a moment. It may also have taken effect. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false
  if (PASSING.has(error.code)) return true
  const { cause } = error
  return cause instanceof Error && 'code' in cause && CONFLICTS.has(String(cause.code))
}
