import type { Store } from 'express-session'
import type { Clock } from '../../clock.ts'
import { dueSessions, firstUse, type SessionUse } from '../session-use.ts'
import type { SignInRecord } from '../sign-in-record.ts'
import { keyOfSid } from './sid-marks.ts'

/** A session that was used in a request to this process. */
export interface UsedSession extends SessionUse {
  readonly id: string
  readonly signIn: SignInRecord
  readonly store: Store
}

/**
 * Limit of tracked sessions, of about a kilobyte each. Beyond it, the idlest is not tracked. If the store cannot list
 * sessions, an untracked one is revoked but not deleted.
 */
const MOST_USED = 10_000

/**
 * The sessions that requests to this process have used, the latest used last, with a count of sessions for each `sid`.
 *
 * A session moves to the end at each request. It is removed when it ends, or if there are too many and it was idle
 * longest.
 */
export class UsedSessions {
  readonly #clock: Clock
  readonly #sessions = new Map<string, UsedSession>()
  readonly #sidCounts = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Starts to track a session, or records another use of it. */
  note(id: string, signIn: SignInRecord, store: Store, seenAt = this.#clock.elapsed()): void {
    const session = this.#sessions.get(id) ?? { id, signIn, store, ...firstUse(this.#clock, signIn.startedAt) }
    session.seenAt = seenAt
    this.drop(id)
    this.#add(session)
    for (const idlest of this.#sessions.keys()) {
      if (this.#sessions.size <= MOST_USED) break
      this.drop(idlest)
    }
  }

  drop(id: string): void {
    const session = this.#sessions.get(id)
    const key = session ? keyOfSid(session.signIn) : null
    this.#sessions.delete(id)
    if (key === null) return
    const count = (this.#sidCounts.get(key) ?? 1) - 1
    if (count > 0) this.#sidCounts.set(key, count)
    else this.#sidCounts.delete(key)
  }

  /**
   * Whether a tracked session has the sid.
   *
   * @param key the sid's key, as `keyOfSid` returns it
   */
  hasSid(key: string): boolean {
    return this.#sidCounts.has(key)
  }

  all(): readonly UsedSession[] {
    return [...this.#sessions.values()]
  }

  /** Yields those of the given sessions that are due for a check, as `dueSessions` does. */
  due(forMs: number, sessions: readonly UsedSession[]): Iterable<UsedSession> {
    return dueSessions(forMs, sessions, this.#clock)
  }

  #add(session: UsedSession): void {
    this.#sessions.set(session.id, session)
    const key = keyOfSid(session.signIn)
    if (key !== null) this.#sidCounts.set(key, (this.#sidCounts.get(key) ?? 0) + 1)
  }
}
