import type { Clock } from '../../../clock.ts'
import type { Platform } from '../../../messages/store.ts'

interface Known {
  readonly platform: Platform
  /** In elapsed milliseconds; never while this instance has claimed it. */
  readonly dueAt: number
  readonly retried: boolean
}

/** Entries of the queue that this instance made, claimed or put off, as far as it knows, by the device's key: for the figures alone. At most one a device. */
export interface KnownPushes {
  /** One was made, due in `delayMs`, unless there was one. Says whether it is new. */
  add(key: string, platform: Platform, delayMs: number): boolean
  claimed(key: string, platform: Platform): void
  /** It is due again in `delayMs`; `retried`: for another try. */
  wait(key: string, platform: Platform, delayMs: number, retried: boolean): void
  forget(key: string): void
  /** Those of `platform` that were due before `asked` and nobody here has claimed. */
  forgetDue(platform: Platform, asked: number): void
  load(): { readonly waiting: Readonly<Record<Platform, number>>; readonly retrying: number }
}

export function openKnownPushes(clock: Pick<Clock, 'elapsed'>): KnownPushes {
  const entries = new Map<string, Known>()
  const put = (key: string, platform: Platform, delayMs: number, retried: boolean) =>
    void entries.set(key, { platform, dueAt: clock.elapsed() + delayMs, retried })

  return {
    add(key, platform, delayMs) {
      if (entries.has(key)) return false
      put(key, platform, delayMs, false)
      return true
    },
    claimed: (key, platform) => put(key, platform, Number.POSITIVE_INFINITY, false),
    wait: put,
    forget: (key) => void entries.delete(key),
    forgetDue(platform, asked) {
      for (const [key, entry] of entries) if (entry.platform === platform && entry.dueAt < asked) entries.delete(key)
    },
    load() {
      const waiting: Record<Platform, number> = { android: 0, ios: 0, webpush: 0 }
      let retrying = 0
      for (const { platform, retried } of entries.values()) {
        waiting[platform] += 1
        if (retried) retrying += 1
      }
      return { waiting, retrying }
    },
  }
}
