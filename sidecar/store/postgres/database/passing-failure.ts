import { StoreError, type StoreErrorCode } from '../../../errors.ts'

/** The database is away, or another server is taking its place; there it may be short of connections for a while. */
const PASSING: ReadonlySet<StoreErrorCode> = new Set(['database_unreachable', 'database_read_only', 'database_refused'])
/** Deadlock, and what could not be put in order: the other side goes on, and so does the next try. */
const IN_THE_WAY = new Set(['40001', '40P01'])

/** Whether the same statement may well succeed in a moment. It may have been carried out, too. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false
  if (PASSING.has(error.code)) return true
  const { cause } = error
  return cause instanceof Error && 'code' in cause && IN_THE_WAY.has(String(cause.code))
}
