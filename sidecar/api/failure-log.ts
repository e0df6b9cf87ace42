import type { Clock } from '../clock.ts'
import { StoreError, type StoreErrorCode } from '../errors.ts'
import type { Log } from '../log.ts'

/** After a minute without a failed call, the next one begins a new outage. */
const OUTAGE_GAP_MS = 60_000
const LOGGED_PATH_CHARACTERS = 100

/** Logs the calls that failed in the server. */
export interface FailureLog {
  note(cause: unknown, path: string): void
}

/**
 * Logs one line an outage and code for a failure of the store, because every phone that calls meanwhile meets the same
 * one. Does not log that the store is closed, because the sidecar is stopping. Any other failure is a bug and logged
 * each time.
 */
export function createFailureLog(clock: Pick<Clock, 'elapsed'>, log: Log): FailureLog {
  /** By code, of which there are few. */
  const lastFailures = new Map<StoreErrorCode, number>()

  function continuesOutage(code: StoreErrorCode): boolean {
    const now = clock.elapsed()
    const last = lastFailures.get(code)
    lastFailures.set(code, now)
    return last !== undefined && now - last < OUTAGE_GAP_MS
  }

  return {
    note(cause, path) {
      if (cause instanceof StoreError && (cause.code === 'store_closed' || continuesOutage(cause.code))) return
      const fields = { path: path.slice(0, LOGGED_PATH_CHARACTERS), error: cause }
      if (cause instanceof StoreError && cause.code === 'store_overloaded')
        log.warn(
          'api-overloaded',
          'Too many calls wait for the database: phones are told to call again later. Look for a slow database, or for a flood of calls. Not logged again until a minute passes without such a call.',
          fields,
        )
      else log.error('api-failed', 'A request could not be answered; the client was told to try again later.', fields)
    },
  }
}
