import type { SessionData, Store } from 'express-session'
import type { IssuerRule, SessionFilter } from '../port.ts'
import { endOfNow, type RevocationStore } from '../revocation-store.ts'
import { keyOfHandle, keysOfFilter, keysOfSignIn } from '../revocations.ts'
import type { SignInRecord } from '../sign-in-record.ts'
import type { ExpressTokens } from './express-tokens.ts'
import { sharedListing } from './session-listing.ts'
import { keyOfSid, type SidMarks } from './sid-marks.ts'
import type { StoreOperation } from './store-operations.ts'
import { type StoredSignIn, signInIn } from './stored-sign-in.ts'
import type { UsedSession, UsedSessions } from './used-sessions.ts'

export interface SessionEndsOptions {
  readonly revocations: RevocationStore
  readonly used: UsedSessions
  readonly marks: SidMarks
  /** The store of tokens. Undefined if the sessions themselves contain the tokens. */
  readonly tokens: ExpressTokens | undefined
  readonly operate: StoreOperation
  readonly maxAgeMs: number
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Decides which sessions of express-session are valid, and ends sessions.
 *
 * A session is valid until it is `maxAgeMs` old or one of its keys is revoked, and only while its issuer is accepted.
 * To end a session, this class revokes its keys, then deletes it with its tokens and `sid` entry. The revocation also
 * ends sessions that the deletion misses, because concurrent requests or logins save them after the store was listed.
 */
export class SessionEnds {
  readonly #options: SessionEndsOptions
  readonly #listings = new WeakMap<Store, () => Promise<readonly StoredSignIn[]>>()
  #acceptsIssuer: IssuerRule = () => true

  constructor(options: SessionEndsOptions) {
    this.#options = options
  }

  acceptIssuers(accepts: IssuerRule): void {
    this.#acceptsIssuer = accepts
  }

  /** Whether a session is valid. Rejects if the revocation store fails. */
  async counts(stored: StoredSignIn): Promise<boolean> {
    if (!this.#isCurrent(stored)) return false
    const endedAt = await this.#options.revocations.endedAt([keyOfHandle(stored.id), ...keysOfSignIn(stored)])
    return endedAt === undefined || stored.startedAt > endedAt
  }

  /** Returns the sessions that this process has seen and that are neither too old nor of another issuer. */
  seen(): readonly UsedSession[] {
    return this.#options.used.all().filter(({ signIn }) => this.#isCurrent(signIn))
  }

  /**
   * Revokes one session. Deleting the session is not enough, because a concurrent request may write it back into the
   * store under the same id.
   */
  async revoke(stored: Pick<StoredSignIn, 'id' | 'startedAt'> | undefined): Promise<void> {
    const { revocations, maxAgeMs, now } = this.#options
    if (!stored || stored.startedAt + maxAgeMs <= now()) return
    // If the clock stepped back since the login, use the login's time. A revocation ends no session that began later.
    const endedAt = Math.max(endOfNow(revocations, now()), stored.startedAt)
    await revocations.revoke([keyOfHandle(stored.id)], endedAt, stored.startedAt + maxAgeMs)
  }

  /** Stops tracking ended sessions and deletes their tokens. */
  async forget(store: Store, ids: readonly string[]): Promise<void> {
    const { used, tokens } = this.#options
    for (const id of ids) used.drop(id)
    if (tokens) await Promise.all(ids.map((id) => tokens.remove(store, id)))
  }

  async endOne({ id, signIn, store }: UsedSession): Promise<void> {
    const { marks, operate } = this.#options
    await this.revoke({ id, startedAt: signIn.startedAt })
    await operate('end a session', (done) => store.destroy(id, done))
    await Promise.all([this.forget(store, [id]), marks.removeOne(store, { ...signIn, id })])
  }

  /**
   * Ends the matching sessions.
   *
   * @returns how many sessions ended, or null if the store cannot list its sessions
   */
  async endMatching(store: Store, filter: SessionFilter): Promise<number | null> {
    const { revocations, marks, operate, maxAgeMs, now } = this.#options
    const keys = keysOfFilter(filter)
    const endedAt = endOfNow(revocations, now())
    await revocations.revoke(keys, endedAt, endedAt + maxAgeMs)
    const ids = await this.#idsWithKeys(store, keys)
    await Promise.all(ids.map((id) => operate('end a session', (done) => store.destroy(id, done))))
    await this.forget(store, ids)
    // Otherwise the former user could send front-channel logouts with this `sid`, and each would read the whole store.
    await marks.remove(store, filter)
    return canList(store) ? ids.length : null
  }

  /** Whether a session matches. Does not list the store for a `sid` alone, which any stranger may send. */
  async knows(store: Store, filter: SessionFilter): Promise<boolean> {
    const { used, marks } = this.#options
    const key = filter.subject === null ? keyOfSid(filter) : null
    if (key === null) return (await this.#idsWithKeys(store, keysOfFilter(filter))).length > 0
    return used.hasSid(key) || marks.has(store, filter)
  }

  #isCurrent(signIn: SignInRecord): boolean {
    const { maxAgeMs, now } = this.#options
    return signIn.startedAt + maxAgeMs > now() && this.#acceptsIssuer(signIn)
  }

  async #idsWithKeys(store: Store, keys: readonly string[]): Promise<readonly string[]> {
    const matches = hasOneOf(keys)
    if (canList(store)) return (await this.#listingOf(store)()).filter(matches).map(({ id }) => id)
    return this.#options.used
      .all()
      .filter(({ signIn }) => matches(signIn))
      .map(({ id }) => id)
  }

  #listingOf(store: Store): () => Promise<readonly StoredSignIn[]> {
    const existing = this.#listings.get(store)
    if (existing) return existing
    const listing = sharedListing(async () => {
      const sessions = await this.#options.operate<StoredSessions>('list the sessions', (done) => store.all?.(done))
      return Object.values(sessions ?? {}).flatMap((session) => signInIn(session) ?? [])
    })
    this.#listings.set(store, listing)
    return listing
  }
}

/** Returns a predicate that is true for sessions with at least one of the given revocation keys. */
export function hasOneOf(keys: readonly string[]): (session: SignInRecord) => boolean {
  return (session) => keysOfSignIn(session).some((key) => keys.includes(key))
}

type StoredSessions = SessionData[] | Record<string, SessionData> | null | undefined

function canList(store: Store): boolean {
  return typeof store.all === 'function'
}
