import type { SessionData, Store } from 'express-session'
import { membersOf } from '../../config/json/json-object.ts'
import type { SessionFilter } from '../port.ts'
import { keyOfHandle, keysOfFilter } from '../revocations.ts'
import type { SignInRecord } from '../sign-in-record.ts'
import type { StoreOperation } from './express-tokens.ts'

/** Which session ids of IdPs (`sid`) have a session in a store. */
export interface SidMarks {
  /** Notes the sid of a session, for as long as the session can count. Nothing where the IdP names none. */
  add(store: Store, session: MarkedSession, until: number): Promise<void>
  /** Takes back one session's {@link add}. The sid stays noted while another session has it. */
  removeOne(store: Store, session: MarkedSession): Promise<void>
  /** Whether a session has the sid. Nothing else is looked at. */
  has(store: Store, those: SessionFilter): Promise<boolean>
  /** Forgets a sid whose sessions were ended. Nothing where the IdP named a subject alone. */
  remove(store: Store, ended: SessionFilter): Promise<void>
}

/** `id` is that of the session. */
export type MarkedSession = Pick<SignInRecord, 'domainKey' | 'issuer' | 'sid'> & { readonly id: string }

interface Mark {
  /** Digests of their ids. */
  readonly sessions: readonly string[]
  /** Milliseconds since 1970. */
  readonly until: number
}

const KEY = 'oidcSid'
/**
 * Sessions of one sid: one for each name of the server that a browser uses, and few more by logins at the same time.
 */
const MOST_SESSIONS = 20

/**
 * An entry for each sid beside the sessions in their store, because anybody can call the address of front-channel
 * logout with a made-up sid. Listing the sessions for it took 98 ms of CPU at 10,000 sessions; one look-up takes the
 * same with any number (rows `frontchannel` of the benchmarks). All processes see the entry, and it survives a restart.
 *
 * The entry holds digests of the ids of its sessions, and goes with the last of them, or when an IdP ends the sid. Two
 * logins of one sid that note it in the same moment may leave one of them out. No cookie leads to an entry, and nobody
 * is signed in by it.
 *
 * @param now milliseconds since 1970
 */
export function sidMarks(operate: StoreOperation, now: () => number): SidMarks {
  async function read(store: Store, key: string): Promise<Mark> {
    const entry = await operate<SessionData | null>('look a session id of the IdP up', (done) =>
      store.get(nameOf(key), done),
    )
    const { sessions, until } = membersOf(entry ? Reflect.get(entry, KEY) : undefined)
    if (!Array.isArray(sessions) || typeof until !== 'number') return { sessions: [], until: 0 }
    return { sessions: sessions.filter((one) => typeof one === 'string'), until }
  }

  async function write(store: Store, key: string, mark: Mark): Promise<void> {
    const { until } = mark
    const leftMs = until - now()
    // Stores read from it how long to keep an entry.
    const cookie = { originalMaxAge: leftMs, maxAge: leftMs, expires: new Date(until), path: '/', httpOnly: true }
    const entry = { cookie, [KEY]: mark } as unknown as SessionData
    await operate('note a session id of the IdP', (done) => store.set(nameOf(key), entry, done))
  }

  async function drop(store: Store, key: string): Promise<void> {
    await operate('forget a session id of the IdP', (done) => store.destroy(nameOf(key), done))
  }

  return {
    async add(store, session, until) {
      const key = keyOfSid(session)
      if (key === null) return
      const before = await read(store, key)
      const sessions = [...before.sessions, keyOfHandle(session.id)].slice(-MOST_SESSIONS)
      await write(store, key, { sessions, until: Math.max(until, before.until) })
    },
    async removeOne(store, session) {
      const key = keyOfSid(session)
      if (key === null) return
      const own = keyOfHandle(session.id)
      const { sessions, until } = await read(store, key)
      const others = sessions.filter((one) => one !== own)
      if (others.length === 0) await drop(store, key)
      else await write(store, key, { sessions: others, until })
    },
    async has(store, those) {
      const key = keyOfSid(those)
      return key !== null && (await read(store, key)).sessions.length > 0
    },
    async remove(store, ended) {
      const key = keyOfSid(ended)
      if (key !== null) await drop(store, key)
    },
  }
}

/** Digest of what an IdP calls a session. Null: it does not name it. */
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
