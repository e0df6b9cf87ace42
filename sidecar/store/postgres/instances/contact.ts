import { LEASE_MS } from '../../../messages/leases.ts'

/** Longer than this without an answer is a break: leases may lapse before whoever holds them can renew them. */
const BREAK_MS = LEASE_MS / 2

/** Whether this process has been in touch with the database for long enough to judge who else is not. Times are elapsed milliseconds. */
export interface Contact {
  /** The database answered. */
  answered(at: number): void
  /**
   * Whether it has answered for {@link LEASE_MS} without a break. Whoever could not reach it either has renewed its leases by then, so what is
   * lapsed still is nobody's.
   */
  lasts(now: number): boolean
}

export function watchContact(): Contact {
  let since = Number.NaN
  let last = Number.NaN
  return {
    answered(at) {
      if (!(at - last <= BREAK_MS)) since = at
      last = at
    },
    lasts: (now) => now - last <= BREAK_MS && now - since >= LEASE_MS,
  }
}
