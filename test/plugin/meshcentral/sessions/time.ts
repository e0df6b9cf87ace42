import type { CleaningOptions } from '../../../../plugin/meshcentral/sessions/cleaning.ts'

export const HALF_A_DAY_MS = 12 * 60 * 60_000

/** A clock, and the time that passes however it is set; cleaning looks at both as often as it can. */
export interface Time {
  readonly now: () => number
  readonly cleaning: Required<Pick<CleaningOptions, 'elapsed' | 'everyMs'>>
  /** Of both. */
  pass(ms: number): void
  /** Of the clock alone. */
  set(clock: number): void
  /** Once cleaning has looked, and done what it does. */
  looked(): Promise<void>
}

export function timeFrom(start: number): Time {
  let clock = start
  let passed = 0
  const waiting: (() => void)[] = []
  return {
    now: () => clock,
    cleaning: {
      everyMs: 1,
      elapsed: () => {
        for (const look of waiting.splice(0)) look()
        return passed
      },
    },
    pass(ms) {
      clock += ms
      passed += ms
    },
    set(to) {
      clock = to
    },
    looked: () => new Promise((resolve) => waiting.push(() => setImmediate(resolve))),
  }
}
