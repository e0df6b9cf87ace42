import type { SessionData, Store } from 'express-session'
import { membersOf } from '../../config/json/json-object.ts'
import type { SessionFilter } from '../port.ts'
import { keyOfHandle, keysOfFilter } from '../revocations.ts'
import type { SignInRecord } from '../sign-in-record.ts'
import { type StoreOperation, storeEntry } from './store-operations.ts'

/**
 * Entries in a session store that each list the sessions with one IdP session id (`sid`). Such an entry is called a
 * mark.
 */
export interface SidMarks {
  /**
   * Adds a session to the entry of its `sid`, if it has one.
   *
   * @param until when the session expires, in milliseconds since 1970
   */
  add(store: Store, session: MarkedSession, until: number): Promise<void>
  /** Removes one session from the list of sessions with its `sid`. Removes the list too if it becomes empty. */
  removeOne(store: Store, session: MarkedSession): Promise<void>
  /** Whether a session has the `sid` of the filter. Ignores the filter's `subject` and `account`. */
  has(store: Store, filter: SessionFilter): Promise<boolean>
  /**
   * Removes the list of sessions with the filter's `sid`, after these sessions ended. Does nothing if the filter has no
   * `sid`.
   */
  remove(store: Store, filter: SessionFilter): Promise<void>
}

/** A session with its id in the session store. */
export type MarkedSession = Pick<SignInRecord, 'domainKey' | 'issuer' | 'sid'> & { readonly id: string }

interface Mark {
  /** Digests of the ids of the sessions with one `sid`. */
  readonly sessions: readonly string[]
  /** When this list of the sessions with one `sid` expires, in milliseconds since 1970. */
  readonly until: number
}

interface MarkEntry {
  readonly oidcSid?: unknown
}

/**
 * Limit of the sessions of one sid. A browser has one session for each host name of the server, and a few more from
 * simultaneous logins.
 */
const MOST_SESSIONS = 20

/**
 * Stores an entry for each sid in the session store. Any stranger can request a front-channel logout with an invented
 * sid, so a look-up must be cheap. Listing 10,000 sessions took 98 ms of CPU time. One entry takes the same time for
 * any number (benchmark rows `frontchannel`).
 *
 * The entry contains digests of session ids, and is removed with the last one. After two simultaneous logins with a
 * sid, it may lack one. It gives no access, because no browser's cookie names it.
 *
 * @param now in milliseconds since 1970
 */
export function sidMarks(operate: StoreOperation, now: () => number): SidMarks {
  async function read(store: Store, key: string): Promise<Mark> {
    const entry = await operate<(SessionData & MarkEntry) | null>("look up the IdP's session id", (done) =>
      store.get(nameOf(key), done),
    )
    const { sessions, until } = membersOf(entry?.oidcSid)
    if (!Array.isArray(sessions) || typeof until !== 'number') return { sessions: [], until: 0 }
    return { sessions: sessions.filter((session) => typeof session === 'string'), until }
  }

  async function write(store: Store, key: string, mark: Mark): Promise<void> {
    const entry = storeEntry({ oidcSid: mark } satisfies MarkEntry, mark.until, now())
    await operate("mark the IdP's session id", (done) => store.set(nameOf(key), entry, done))
  }

  async function drop(store: Store, key: string): Promise<void> {
    await operate("remove the mark of the IdP's session id", (done) => store.destroy(nameOf(key), done))
  }

  return {
    async add(store, session, until) {
      const key = keyOfSid(session)
      if (key === null) return
      const mark = await read(store, key)
      const sessions = [...mark.sessions, keyOfHandle(session.id)].slice(-MOST_SESSIONS)
      await write(store, key, { sessions, until: Math.max(until, mark.until) })
    },
    async removeOne(store, session) {
      const key = keyOfSid(session)
      if (key === null) return
      const digest = keyOfHandle(session.id)
      const { sessions, until } = await read(store, key)
      const remaining = sessions.filter((marked) => marked !== digest)
      if (remaining.length === 0) await drop(store, key)
      else await write(store, key, { sessions: remaining, until })
    },
    async has(store, filter) {
      const key = keyOfSid(filter)
      return key !== null && (await read(store, key)).sessions.length > 0
    },
    async remove(store, filter) {
      const key = keyOfSid(filter)
      if (key !== null) await drop(store, key)
    },
  }
}

/** Returns a digest of the IdP's session id, or null if there is none. */
export function keyOfSid({
  domainKey,
  issuer,
  sid,
}: Pick<SignInRecord, 'domainKey' | 'issuer' | 'sid'>): string | null {
  const [key = null] = sid === null ? [] : keysOfFilter({ domainKey, issuer, subject: null, sid })
  return key
}

function nameOf(key: string): string {
  return `oidc-sid-${key}`
}
