import type { Clock } from '../../../clock.ts'
import type { Platform } from '../../../messages/store.ts'

interface Known {
  readonly platform: Platform
  /** In elapsed milliseconds; never while this instance has claimed it. */
  readonly dueAt: number
}

/**
 * Entries of the queue that this instance made, claimed or put off, as far as it knows, by the device's key: for the
 * figures alone. At most one a device.
 */
export interface KnownPushes {
  /** One was made, due in `delayMs`, unless there was one. Says whether it is new. */
  add(key: string, platform: Platform, delayMs: number): boolean
  claimed(key: string, platform: Platform): void
  /** It is due again in `delayMs`. */
  wait(key: string, platform: Platform, delayMs: number): void
  forget(key: string): void
  /** Those of `platform` that were due before `asked` and nobody here has claimed. */
  forgetDue(platform: Platform, asked: number): void
  waiting(platform: Platform): number
}

export function openKnownPushes(clock: Pick<Clock, 'elapsed'>): KnownPushes {
  const entries = new Map<string, Known>()
  const put = (key: string, platform: Platform, delayMs: number) =>
    void entries.set(key, { platform, dueAt: clock.elapsed() + delayMs })

  return {
    add(key, platform, delayMs) {
      if (entries.has(key)) return false
      put(key, platform, delayMs)
      return true
    },
    claimed: (key, platform) => put(key, platform, Number.POSITIVE_INFINITY),
    wait: put,
    forget: (key) => void entries.delete(key),
    forgetDue(platform, asked) {
      for (const [key, entry] of entries) if (entry.platform === platform && entry.dueAt < asked) entries.delete(key)
    },
    waiting(wanted) {
      let count = 0
      for (const { platform } of entries.values()) if (platform === wanted) count += 1
      return count
    },
  }
}
