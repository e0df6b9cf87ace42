import type { Clock } from '../../../clock.ts'
import type { Platform } from '../../../messages/store.ts'

interface Estimate {
  readonly platform: Platform
  /** Elapsed milliseconds at which the row is due; infinite while this instance holds a claim on it. */
  readonly dueAt: number
}

/**
 * Estimates for metrics: the queue rows that this instance stored, claimed or postponed. Others may have changed them.
 */
export interface KnownPushes {
  /** Adds a row that is due in `delayMs`, unless the device already has one. Returns whether it added the row. */
  add(key: string, platform: Platform, delayMs: number): boolean
  claimed(key: string, platform: Platform): void
  /** Records that the row is due again in `delayMs`. */
  wait(key: string, platform: Platform, delayMs: number): void
  forget(key: string): void
  /** Forgets the rows of `platform` that were due before `elapsed`, except those that this instance claimed. */
  forgetDue(platform: Platform, elapsed: number): void
  waiting(platform: Platform): number
}

/** Opens an empty list of queue rows. */
export function openKnownPushes(clock: Pick<Clock, 'elapsed'>): KnownPushes {
  const entries = new Map<string, Estimate>()
  const set = (key: string, platform: Platform, delayMs: number) =>
    void entries.set(key, { platform, dueAt: clock.elapsed() + delayMs })

  return {
    add(key, platform, delayMs) {
      if (entries.has(key)) return false
      set(key, platform, delayMs)
      return true
    },
    claimed: (key, platform) => set(key, platform, Number.POSITIVE_INFINITY),
    wait: set,
    forget: (key) => void entries.delete(key),
    forgetDue(platform, elapsed) {
      for (const [key, entry] of entries) if (entry.platform === platform && entry.dueAt < elapsed) entries.delete(key)
    },
    waiting(wanted) {
      let count = 0
      for (const { platform } of entries.values()) if (platform === wanted) count += 1
      return count
    },
  }
}
