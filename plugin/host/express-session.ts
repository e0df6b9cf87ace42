import type { Request } from 'express'
import { type Clock, systemClock } from '../clock.ts'
import { LEASE_MS, type OpenSession, type Sessions, type SignIn } from './port.ts'
import type { RevocationStore } from './revocation-store.ts'
import { keyOfHandle, keysOfFilter, MAX_SESSION_MS, memoryRevocations, withTimeLimit } from './revocations.ts'
import { type ExpressTokens, expressTokens } from './session-store/express-tokens.ts'
import { hasOneOf, SessionEnds } from './session-store/session-ends.ts'
import { type SidMarks, sidMarks } from './session-store/sid-marks.ts'
import { type StoreOperation, storeOperations } from './session-store/store-operations.ts'
import {
  clearSessionCookie,
  type StoredSignIn,
  sessionOf,
  signInOf,
  storedSignIn,
  storeOf,
  storeSignIn,
} from './session-store/stored-sign-in.ts'
import { type UsedSession, UsedSessions } from './session-store/used-sessions.ts'
import { NO_TOKENS } from './sign-in-record.ts'
import { timeLimit } from './time-limit.ts'

export interface ExpressSessionsOptions {
  /** The cookie's name: the value of express-session's option `name`. Default `connect.sid`. */
  readonly cookieName?: string
  /** Time limit of one operation of the session store or the revocation store, in milliseconds. Default 10,000. */
  readonly storeTimeoutMs?: number
  /** How long a session is valid after its login, even while in use, in milliseconds. Default 14 days. */
  readonly maxAgeMs?: number
  /**
   * The store of ended sessions. Default: the process's memory. Several processes need a shared store. So does a
   * session store that survives restarts but has no method `all`.
   */
  readonly revocations?: RevocationStore
  /**
   * Whether to renew a login's tokens while its session is in use, and to end the session when the IdP refuses. The
   * tokens are then stored beside the session, sealed with `host.secret`. Several processes need shared `revocations`
   * with the method `once`. Default false: the session contains the tokens, for `oidc.introspect` and the logout.
   */
  readonly tokens?: boolean
  /**
   * Time between two renewals of a session in use, in milliseconds. Default 300,000. 0 means no renewals. Has no effect
   * without `tokens`.
   */
  readonly sessionCheckMs?: number
  readonly now?: () => number
  /**
   * The clock. Default: the machine's clock.
   *
   * @internal
   */
  readonly clock?: Clock
}

/** The components and settings that implement {@link Sessions} for one server. */
interface Parts {
  readonly ends: SessionEnds
  readonly used: UsedSessions
  readonly marks: SidMarks
  readonly revocations: RevocationStore
  readonly operate: StoreOperation
  readonly cookieName: string
  readonly maxAgeMs: number
}

/**
 * Implements {@link Sessions} for `express-session` with any store. Install the middleware before the plugin's routes.
 * If a store fails or times out, methods reject and the request counts as not signed in.
 */
export function expressSessions(options: ExpressSessionsOptions = {}): Sessions {
  const { cookieName = 'connect.sid', storeTimeoutMs = 10_000, maxAgeMs = MAX_SESSION_MS } = options
  const { clock = systemClock, now = () => clock.now(), sessionCheckMs = 300_000 } = options
  const limit = timeLimit(clock, storeTimeoutMs)
  // The memory store needs no time limit, because it does not wait for anything.
  const revocations = options.revocations ? withTimeLimit(options.revocations, limit) : memoryRevocations({ now })
  const operate = storeOperations(limit)
  const tokens = options.tokens ? expressTokens(operate, now) : undefined
  const marks = sidMarks(operate, now)
  const used = new UsedSessions(clock)
  const ends = new SessionEnds({ revocations, used, marks, tokens, operate, maxAgeMs, now })
  const parts: Parts = { ends, used, marks, revocations, operate, cookieName, maxAgeMs }

  return {
    revocations,
    ...(tokens ? renewable(parts, tokens, sessionCheckMs) : {}),
    ...(tokens && revocations.isShared && revocations.once
      ? { lease: (id) => lease(revocations, clock, now, id) }
      : {}),
    acceptIssuers: (accepts) => ends.acceptIssuers(accepts),
    start: (req, _res, signIn) => start(parts, tokens, req, signIn),
    current: (req) => current(parts, req as Request),
    async end(req, res) {
      const session = sessionOf(req)
      clearSessionCookie(res, cookieName, session.cookie)
      const { sessionStore } = req
      const stored = storedSignIn(req)
      await Promise.all([ends.revoke(stored), operate('end the session', (done) => session.destroy(done))])
      await Promise.all([ends.forget(sessionStore, [session.id]), stored && marks.removeOne(sessionStore, stored)])
    },
    knows: async (req, filter) => ends.knows(storeOf(req), filter),
    endMatching: async (req, filter) => ends.endMatching(storeOf(req), filter),
  }
}

/** Starts a session with a new id and no old content. An attacker may have planted the old id (session fixation). */
async function start(parts: Parts, tokens: ExpressTokens | undefined, req: Request, signIn: SignIn): Promise<void> {
  const { ends, used, marks, operate, maxAgeMs } = parts
  const oldSession = sessionOf(req)
  const previous = storedSignIn(req)
  const revoked = ends.revoke(previous)
  await Promise.all([revoked, operate('replace the session', (done) => oldSession.regenerate(done))])
  const { sessionStore } = req
  if (previous) await Promise.all([ends.forget(sessionStore, [previous.id]), marks.removeOne(sessionStore, previous)])
  const session = sessionOf(req)
  const { idToken, tokens: received, ...record } = signIn
  const inSession = tokens ? NO_TOKENS : { idToken, tokens: received }
  const stored: StoredSignIn = { ...record, ...inSession, id: session.id }
  storeSignIn(session, stored)
  const until = signIn.startedAt + maxAgeMs
  try {
    await tokens?.keep(sessionStore, session.id, { idToken, tokens: received }, until)
    // Save the session before the answer is sent. The browser's next request may arrive before this request ends.
    await Promise.all([
      operate('save the session', (done) => session.save(done)),
      marks.add(sessionStore, stored, until),
    ])
  } catch (error) {
    // Destroy the new session. Otherwise the middleware would save it at the end of the request, and the user would be
    // signed in although the login failed.
    void operate('drop the session', (done) => session.destroy(done)).catch(() => undefined)
    throw error
  }
  // Track the session, but not as used, because no request has used it yet.
  used.note(session.id, record, sessionStore, Number.NEGATIVE_INFINITY)
}

/** Returns the login, unless it was revoked. A concurrent request may write a deleted session back to the store. */
async function current({ ends, used }: Parts, req: Request): Promise<SignIn | undefined> {
  const stored = storedSignIn(req)
  if (!stored || !(await ends.counts(stored))) return undefined
  const { id, idToken: _idToken, tokens: _tokens, ...record } = stored
  used.note(id, record, storeOf(req))
  return signInOf(stored)
}

/** Returns the members of {@link Sessions} that need stored tokens. */
function renewable({ ends, used, maxAgeMs }: Parts, tokens: ExpressTokens, checkMs: number): Partial<Sessions> {
  const openSession = (session: UsedSession): OpenSession => {
    const { id, signIn, store } = session
    return {
      id: keyOfHandle(id),
      signIn,
      read: () => tokens.read(store, id),
      write: (fresh) => tokens.replace(store, id, fresh, signIn.startedAt + maxAgeMs),
      end: () => ends.endOne(session),
      endAllOfUser: () => ends.endMatching(store, { ...signIn, sid: null, account: signIn.userId }),
    }
  }
  return {
    checkMs,
    sealBy: tokens.sealBy,
    async kept(req) {
      const stored = storedSignIn(req)
      return stored ? tokens.read(storeOf(req), stored.id) : NO_TOKENS
    },
    async matching(_req, filter) {
      const matches = hasOneOf(keysOfFilter(filter))
      return ends.seen().flatMap((session) => (matches(session.signIn) ? [openSession(session)] : []))
    },
    *inUse(domainKey, forMs) {
      const ofDomain = ends.seen().filter(({ signIn }) => signIn.domainKey === domainKey)
      for (const session of used.due(forMs, ofDomain)) yield openSession(session)
    },
  }
}

/** Acquires the lease for renewing a session's tokens, in the revocation store that all processes share. */
async function lease(
  revocations: RevocationStore,
  clock: Clock,
  now: () => number,
  id: string,
): Promise<(() => Promise<void>) | null> {
  const beganAt = clock.elapsed()
  const key = `renewal ${id}`
  if (!(await revocations.once?.(key, now() + LEASE_MS))) return null
  return async () => {
    // Once the lease has expired, another process may hold it.
    if (clock.elapsed() - beganAt < LEASE_MS) await revocations.release?.(key)
  }
}
