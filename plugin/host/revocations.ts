import { hash } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { SessionFilter, UserId } from './port.ts'
import type { RevocationStore } from './revocation-store.ts'
import type { SignInRecord } from './sign-in-record.ts'
import type { TimeLimit } from './time-limit.ts'

/** How long a session counts after its login unless the server says otherwise: 14 days. */
export const MAX_SESSION_MS = 14 * 24 * 60 * 60_000

export interface MemoryRevocationsOptions {
  /** Keys that are remembered. Default 50,000; each costs about 150 bytes. */
  readonly most?: number
  readonly now?: () => number
}

/**
 * Revocations that live as long as the process: fit for one process whose sessions end with it. When there are too
 * many, the oldest is forgotten, and with it every session that began before it ends: none comes back to life.
 */
export function memoryRevocations({
  most = 50_000,
  now = systemClock.now,
}: MemoryRevocationsOptions = {}): RevocationStore {
  const entries = new Map<string, { readonly endedAt: number; readonly until: number }>()
  let allEndedAt: number | undefined

  /** None before it has to go: by a clock that is wrong for a while all would have run out. */
  function forgetOldest() {
    for (const [key, { endedAt, until }] of entries) {
      if (entries.size <= most) return
      entries.delete(key)
      if (until > now()) allEndedAt = Math.max(endedAt, allEndedAt ?? endedAt)
    }
  }

  return {
    async revoke(keys, endedAt, until) {
      for (const key of keys) {
        const known = entries.get(key)
        // Deleted first, so that the map stays in the order of age.
        entries.delete(key)
        entries.set(key, {
          endedAt: Math.max(endedAt, known?.endedAt ?? endedAt),
          until: Math.max(until, known?.until ?? until),
        })
      }
      forgetOldest()
    },
    async endedAt(keys) {
      const times = keys.flatMap((key) => entries.get(key)?.endedAt ?? [])
      return [...times, ...(allEndedAt === undefined ? [] : [allEndedAt])].toSorted((a, b) => a - b).at(-1)
    },
  }
}

/** The same store, each call of which rejects when it is late. */
export function withTimeLimit(store: RevocationStore, limit: TimeLimit): RevocationStore {
  const limited = <Result>(work: Promise<Result>) => limit(work, 'The store of ended sessions took too long.')
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

/** Where a sign-in is looked up: it is over when one of these was revoked after it began, or at that very moment. */
export function keysOfSignIn({ domainKey, userId, issuer, subject, sid }: SignInRecord): readonly string[] {
  const key = keysOf(domainKey, issuer)
  const own = sid === null ? [key('without sid', subject)] : [key('sid', sid), key('both', subject, sid)]
  return [key('subject', subject), ...own, keyOfAccount(domainKey, userId)]
}

/** What is revoked to end these sessions: each of them has one of the keys, and no other session has. */
export function keysOfFilter({ domainKey, issuer, subject, sid, account }: SessionFilter): readonly string[] {
  const key = keysOf(domainKey, issuer)
  const whole = account === undefined ? [] : [keyOfAccount(domainKey, account)]
  if (subject !== null && sid !== null) return [key('both', subject, sid), key('without sid', subject), ...whole]
  if (subject !== null) return [key('subject', subject), ...whole]
  if (sid !== null) return [key('sid', sid), ...whole]
  throw new TypeError('Neither a subject nor a session id says which sessions ended.')
}

function keyOfAccount(domainKey: string, userId: UserId): string {
  return keysOf(domainKey, '')('account', userId)
}

/** Of a single session, by the random handle that it bears. */
export function keyOfHandle(handle: string): string {
  return keysOf('', '')('handle', handle)
}

function keysOf(domainKey: string, issuer: string): (...what: readonly string[]) => string {
  return (...what) => hash('sha256', JSON.stringify([domainKey, issuer, ...what]), 'base64url')
}
