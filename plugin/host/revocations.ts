import { hash } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { SessionFilter, UserId } from './port.ts'
import type { RevocationStore } from './revocation-store.ts'
import type { SignInRecord } from './sign-in-record.ts'
import type { TimeLimit } from './time-limit.ts'

/** How long a session is valid after its login by default: 14 days, in milliseconds. */
export const MAX_SESSION_MS = 14 * 24 * 60 * 60_000

export interface MemoryRevocationsOptions {
  /** Limit of revocation keys in memory. Default 50,000. A key takes about 150 bytes. */
  readonly most?: number
  readonly now?: () => number
}

/**
 * Keeps revocations in memory, for one process whose sessions end when it stops. Beyond `most` keys, it drops the
 * oldest, and revokes every session that began before.
 */
export function memoryRevocations({
  most = 50_000,
  now = systemClock.now,
}: MemoryRevocationsOptions = {}): RevocationStore {
  const entries = new Map<string, { readonly endedAt: number; readonly until: number }>()
  let allEndedAt: number | undefined

  /**
   * Drops the oldest entries beyond `most`. Does not drop expired entries earlier, because a wrong clock may make all
   * entries seem expired.
   */
  function dropOldest() {
    for (const [key, { endedAt, until }] of entries) {
      if (entries.size <= most) return
      entries.delete(key)
      if (until > now()) allEndedAt = Math.max(endedAt, allEndedAt ?? endedAt)
    }
  }

  return {
    async revoke(keys, endedAt, until) {
      for (const key of keys) {
        const stored = entries.get(key)
        // Delete the entry first, so that the map stays in order of age.
        entries.delete(key)
        entries.set(key, {
          endedAt: Math.max(endedAt, stored?.endedAt ?? endedAt),
          until: Math.max(until, stored?.until ?? until),
        })
      }
      dropOldest()
    },
    async endedAt(keys) {
      const times = keys.flatMap((key) => entries.get(key)?.endedAt ?? [])
      return [...times, ...(allEndedAt === undefined ? [] : [allEndedAt])].toSorted((a, b) => a - b).at(-1)
    },
  }
}

/** Wraps a store with a time limit: a call that takes too long rejects. */
export function withTimeLimit(store: RevocationStore, limit: TimeLimit): RevocationStore {
  const limited = <Result>(work: Promise<Result>) => limit(work, 'The revocation store took too long.')
  const { isShared = false } = store
  const once = store.once?.bind(store)
  const release = store.release?.bind(store)
  return {
    isShared,
    revoke: (keys, endedAt, until) => limited(store.revoke(keys, endedAt, until)),
    endedAt: (keys) => limited(store.endedAt(keys)),
    ...(once ? { once: (key: string, until: number) => limited(once(key, until)) } : {}),
    ...(release ? { release: (key: string) => limited(release(key)) } : {}),
  }
}

/**
 * Returns the revocation keys of a session. Revoking any one of them at or after the session's start ends the session.
 */
export function keysOfSignIn({ domainKey, userId, issuer, subject, sid }: SignInRecord): readonly string[] {
  const key = keysOf(domainKey, issuer)
  const sessionKeys = sid === null ? [key('without sid', subject)] : [key('sid', sid), key('both', subject, sid)]
  return [key('subject', subject), ...sessionKeys, keyOfAccount(domainKey, userId)]
}

/**
 * Returns the keys to revoke for a filter. Every matching session has one of these keys, and no other session has any.
 */
export function keysOfFilter({ domainKey, issuer, subject, sid, account }: SessionFilter): readonly string[] {
  const key = keysOf(domainKey, issuer)
  const accountKeys = account === undefined ? [] : [keyOfAccount(domainKey, account)]
  if (subject !== null && sid !== null) return [key('both', subject, sid), key('without sid', subject), ...accountKeys]
  if (subject !== null) return [key('subject', subject), ...accountKeys]
  if (sid !== null) return [key('sid', sid), ...accountKeys]
  throw new TypeError('A session filter needs a subject or a sid.')
}

function keyOfAccount(domainKey: string, userId: UserId): string {
  return keysOf(domainKey, '')('account', userId)
}

/** Returns the revocation key of a single session, from its random handle. */
export function keyOfHandle(handle: string): string {
  return keysOf('', '')('handle', handle)
}

function keysOf(domainKey: string, issuer: string): (...parts: readonly string[]) => string {
  return (...parts) => hash('sha256', JSON.stringify([domainKey, issuer, ...parts]), 'base64url')
}
