import type { Clock } from '../clock.ts'
import { StoreError, type StoreErrorCode } from '../errors.ts'
import type { Log } from '../log.ts'

/** Time in milliseconds after which an outage is over if no request fails. */
const OUTAGE_GAP_MS = 60_000
const LOGGED_PATH_CHARACTERS = 100

/** Logs requests that failed because of a fault of the server. */
export interface FailureLog {
  note(cause: unknown, path: string): void
}

/**
 * Logs failed requests. A store failure is logged once per outage and error code, because every request fails then.
 * Other failures are bugs, so each is logged.
 */
export function createFailureLog(clock: Pick<Clock, 'elapsed'>, log: Log): FailureLog {
  /** Elapsed time of the last failure, by error code. The map stays small, because there are few codes. */
  const lastFailures = new Map<StoreErrorCode, number>()

  function continuesOutage(code: StoreErrorCode): boolean {
    const now = clock.elapsed()
    const last = lastFailures.get(code)
    lastFailures.set(code, now)
    return last !== undefined && now - last < OUTAGE_GAP_MS
  }

  return {
    note(cause, path) {
      // A closed store means that the sidecar is stopping.
      if (cause instanceof StoreError && (cause.code === 'store_closed' || continuesOutage(cause.code))) return
      const fields = { path: path.slice(0, LOGGED_PATH_CHARACTERS), error: cause }
      if (cause instanceof StoreError && cause.code === 'store_overloaded')
        log.warn(
          'api-overloaded',
          'Too many requests wait for the database; phones are asked to try again later. Look for a slow database or a flood of requests. Logged again only after a minute without such a request.',
          fields,
        )
      else log.error('api-failed', 'Could not answer a request; the client was asked to try again later.', fields)
    },
  }
}
