import { type Clock, isLate } from '../clock.ts'

/**
 * Settles like `work`. If `work` does not settle in time, rejects with the error text `reason`; the work itself
 * continues.
 */
export type TimeLimit = <Result>(work: Promise<Result>, reason: string) => Promise<Result>

export function timeLimit(clock: Clock, limitMs: number): TimeLimit {
  return async (work, reason) => {
    if (await isLate(clock, work, limitMs)) throw new Error(reason)
    return work
  }
}
