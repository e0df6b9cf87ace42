import type { Clock } from '../../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'
import { REFUSALS } from './postgres-error.ts'

const TRY_AGAIN_MS = 100

/**
 * Retries `work` after temporary errors until elapsed time `until`. A failed attempt may have taken effect. Rejects
 * with the last error.
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
 * Error codes while the database is unreachable or another server replaces it. At first, the new server may lack free
 * connections.
 */
const PASSING: ReadonlySet<StoreErrorCode> = new Set([
  'database_unreachable',
  'database_read_only',
  'database_older',
  ...REFUSALS,
])
/**
 * Codes of a serialization failure and a deadlock. The other transaction continues, so the next attempt can succeed.
 */
const CONFLICTS = new Set(['40001', '40P01'])

/** Returns whether the same statement may succeed soon. The failed one may still have taken effect. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false
  if (PASSING.has(error.code)) return true
  const { cause } = error
  return cause instanceof Error && 'code' in cause && CONFLICTS.has(String(cause.code))
}
