import type { Request, Response } from 'express'
import type { Session, SessionData, Store } from 'express-session'
import { type Clock, systemClock } from '../clock.ts'
import { isJsonObject } from '../config/json/json-object.ts'
import { type IssuerRule, LEASE_MS, type OpenSession, type SessionFilter, type Sessions, type SignIn } from './port.ts'
import { endOfNow, type RevocationStore } from './revocation-store.ts'
import {
  keyOfHandle,
  keysOfFilter,
  keysOfSignIn,
  MAX_SESSION_MS,
  memoryRevocations,
  withTimeLimit,
} from './revocations.ts'
import { type ExpressTokens, expressTokens, type StoreOperation } from './session-store/express-tokens.ts'
import { sharedListing } from './session-store/session-listing.ts'
import { keyOfSid, sidMarks } from './session-store/sid-marks.ts'
import { dueSessions, firstUse, type Use } from './session-use.ts'
import { NO_TOKENS, readRecord, readTokens, type SignInRecord } from './sign-in-record.ts'
import { timeLimit } from './time-limit.ts'

export interface ExpressSessionsOptions {
  /** The option `name` that express-session was set up with. Default: its own, `connect.sid`. */
  readonly cookieName?: string
  /** How long a session store, or the store of revocations, may take for one operation. Default 10,000. */
  readonly storeTimeoutMs?: number
  /** How long a session counts after its login, however often it is used. Default: 14 days. */
  readonly maxAgeMs?: number
  /**
   * Remembers what an IdP ended. Sessions are deleted from the session store as well, so the memory of the process, the
   * default, does for one process. Several processes, and stores without the method `all` that outlive a restart, need
   * one that is shared.
   */
  readonly revocations?: RevocationStore
  /**
   * Whether the tokens of a login are kept beside the session in its store, sealed by `host.secret`, and renewed at the
   * IdP while the session is in use: it ends once the IdP refuses that. Several processes need `revocations` with
   * `once` for it. Default false: they stand in the session as they are, for `oidc.introspect` and the logout, and are
   * not renewed.
   */
  readonly tokens?: boolean
  /** How often a session in use is renewed, where tokens are kept. Default 300,000; 0: never. */
  readonly sessionCheckMs?: number
  readonly now?: () => number
  /**
   * Default: that of this machine.
   *
   * @internal
   */
  readonly clock?: Clock
}

/**
 * Sessions that this process has seen. One takes about a kilobyte; who was idle longest is forgotten until the next
 * request, and ends by the revocation alone in a store that cannot list its own.
 */
const MOST_USED = 10_000

/** Where the login stands in the session; the host's own keys are left alone, but do not outlive a login. */
const KEY = 'oidcSignIn'

interface Kept extends SignIn {
  /** Of the session itself: not every store tells the ids of what it lists. */
  readonly id: string
}

interface Used extends Use {
  readonly id: string
  readonly signIn: SignInRecord
  readonly store: Store
}

/**
 * The sessions of a server that uses `express-session` with any of its stores. The middleware has to be in place before
 * the plugin's routes. Everything rejects when the store fails or does not answer in time; then nobody is signed in.
 */
export function expressSessions(options: ExpressSessionsOptions = {}): Sessions {
  const { cookieName = 'connect.sid', storeTimeoutMs = 10_000, maxAgeMs = MAX_SESSION_MS } = options
  const { sessionCheckMs: checkMs = 300_000 } = options
  const { clock = systemClock, now = () => clock.now() } = options
  const limit = timeLimit(clock, storeTimeoutMs)
  // The memory of the process answers within the call.
  const revocations = options.revocations ? withTimeLimit(options.revocations, limit) : memoryRevocations({ now })
  const settle: StoreOperation = <Result = void>(what: string, run: StoreCall<Result>) =>
    limit(called(what, run), `The session store took too long to ${what}.`)
  const listings = new WeakMap<Store, () => Promise<readonly Kept[]>>()
  const tokens = options.tokens ? expressTokens(settle, now) : undefined
  let acceptsIssuer: IssuerRule = () => true
  const marks = sidMarks(settle, now)
  /** In the order of use. */
  const used = new Map<string, Used>()
  /** How many of them the IdP calls so. */
  const usedSids = new Map<string, number>()

  function dropUsed(id: string): void {
    const one = used.get(id)
    const key = one ? keyOfSid(one.signIn) : null
    used.delete(id)
    if (key === null) return
    const left = (usedSids.get(key) ?? 1) - 1
    if (left > 0) usedSids.set(key, left)
    else usedSids.delete(key)
  }

  function addUsed(one: Used): void {
    used.set(one.id, one)
    const key = keyOfSid(one.signIn)
    if (key !== null) usedSids.set(key, (usedSids.get(key) ?? 0) + 1)
  }

  function noteUse(kept: Kept, store: Store, seenAt = clock.elapsed()): void {
    const { id, idToken: _idToken, tokens: _tokens, ...signIn } = kept
    const one = used.get(id) ?? { id, signIn, store, ...firstUse(clock, signIn.startedAt) }
    one.seenAt = seenAt
    dropUsed(id)
    addUsed(one)
    for (const idlest of used.keys()) {
      if (used.size <= MOST_USED) break
      dropUsed(idlest)
    }
  }

  /** Lets go of what is kept of sessions that have ended. */
  async function forget(store: Store, ids: readonly string[]): Promise<void> {
    for (const id of ids) dropUsed(id)
    if (tokens) await Promise.all(ids.map((id) => tokens.remove(store, id)))
  }

  /** By the store that all processes have. */
  async function lease(id: string): Promise<(() => Promise<void>) | null> {
    const begun = clock.elapsed()
    if (!(await revocations.once?.(`renewal ${id}`, now() + LEASE_MS))) return null
    return async () => {
      // Once it has run out it may be another one's.
      if (clock.elapsed() - begun < LEASE_MS) await revocations.release?.(`renewal ${id}`)
    }
  }

  /** What is there where tokens are kept. */
  function keeping(tokens: ExpressTokens): Partial<Sessions> {
    const openSession = ({ id, signIn, store }: Used): OpenSession => ({
      id: keyOfHandle(id),
      signIn,
      read: () => tokens.read(store, id),
      write: (fresh) => tokens.replace(store, id, fresh, signIn.startedAt + maxAgeMs),
      async end() {
        await revoke({ id, ...signIn })
        await settle('end a session', (done) => store.destroy(id, done))
        await Promise.all([forget(store, [id]), marks.removeOne(store, { id, ...signIn })])
      },
      endAllOfUser: () => endIn(store, { ...signIn, sid: null, account: signIn.userId }),
    })
    const living = () =>
      [...used.values()].filter(({ signIn }) => signIn.startedAt + maxAgeMs > now() && acceptsIssuer(signIn))
    return {
      checkMs,
      sealBy: tokens.sealBy,
      ...(revocations.isShared && revocations.once ? { lease } : {}),
      async kept(req) {
        const own = keptIn(req)
        return own ? tokens.read(storeOf(req), own.id) : NO_TOKENS
      },
      async matching(_req, those) {
        const isOne = hasOneOf(keysOfFilter(those))
        return living().flatMap((one) => (isOne(one.signIn) ? [openSession(one)] : []))
      },
      *inUse(domainKey, forMs) {
        const those = living().filter(({ signIn }) => signIn.domainKey === domainKey)
        for (const one of dueSessions(forMs, those, clock)) yield openSession(one)
      },
    }
  }

  function listingOf(store: Store): () => Promise<readonly Kept[]> {
    const known = listings.get(store)
    if (known) return known
    const listing = sharedListing(async () => {
      const sessions = await settle<StoredSessions>('list the sessions', (done) => store.all?.(done))
      return Object.values(sessions ?? {}).flatMap((session) => readKept(Reflect.get(session, KEY)) ?? [])
    })
    listings.set(store, listing)
    return listing
  }

  async function idsOf(store: Store, keys: readonly string[]): Promise<readonly string[]> {
    const isOne = hasOneOf(keys)
    if (canList(store)) return (await listingOf(store)()).filter(isOne).map(({ id }) => id)
    return [...used.values()].filter(({ signIn }) => isOne(signIn)).map(({ id }) => id)
  }

  async function endIn(store: Store, ended: SessionFilter): Promise<number | null> {
    const keys = keysOfFilter(ended)
    const at = endOfNow(revocations, now())
    // First of all, so that a login under way that is saved after the list below was made does not count either.
    await revocations.revoke(keys, at, at + maxAgeMs)
    const ids = await idsOf(store, keys)
    await Promise.all(ids.map((id) => settle('end a session', (done) => store.destroy(id, done))))
    await forget(store, ids)
    // The sid is known no more. Else whoever had this session could have the store listed over and over.
    await marks.remove(store, ended)
    return canList(store) ? ids.length : null
  }

  async function counts(kept: Kept): Promise<boolean> {
    if (kept.startedAt + maxAgeMs <= now() || !acceptsIssuer(kept)) return false
    const endedAt = await revocations.endedAt([keyOfHandle(kept.id), ...keysOfSignIn(kept)])
    return endedAt === undefined || kept.startedAt > endedAt
  }

  /**
   * A request under way that ends later than this writes its session back into the store, under the id that the browser
   * has.
   */
  async function revoke(kept: Pick<Kept, 'id' | 'startedAt'> | undefined): Promise<void> {
    if (!kept || kept.startedAt + maxAgeMs <= now()) return
    // However the clock was set meanwhile.
    const endedAt = Math.max(endOfNow(revocations, now()), kept.startedAt)
    await revocations.revoke([keyOfHandle(kept.id)], endedAt, kept.startedAt + maxAgeMs)
  }

  return {
    revocations,
    ...(tokens ? keeping(tokens) : {}),

    acceptIssuers(accepts) {
      acceptsIssuer = accepts
    },

    async start(req, _res, signIn) {
      // A new id and an empty session: whoever planted the old id, or left something in the session, has nothing of
      // this login.
      const before = sessionOf(req)
      const ending = keptIn(req)
      const revoked = revoke(ending)
      await Promise.all([revoked, settle('replace the session', (done) => before.regenerate(done))])
      if (ending) await Promise.all([forget(req.sessionStore, [ending.id]), marks.removeOne(req.sessionStore, ending)])
      const session = sessionOf(req)
      const kept: Kept = { ...signIn, ...(tokens ? { idToken: null, tokens: null } : {}), id: session.id }
      Reflect.set(session, KEY, kept)
      const until = signIn.startedAt + maxAgeMs
      try {
        await tokens?.keep(req.sessionStore, session.id, { idToken: signIn.idToken, tokens: signIn.tokens }, until)
        // Saved before the browser is sent on: its next request may come before the end of this one.
        await Promise.all([
          settle('save the session', (done) => session.save(done)),
          marks.add(req.sessionStore, kept, until),
        ])
      } catch (error) {
        // Without this the middleware would try once more at the end of the request, and sign in after all.
        void settle('drop the session', (done) => session.destroy(done)).catch(() => undefined)
        throw error
      }
      // Not used yet.
      noteUse(kept, req.sessionStore, Number.NEGATIVE_INFINITY)
    },

    async current(req: Request) {
      const kept = keptIn(req)
      // Asked each time: a request that was under way while the session was deleted may have put it back into the
      // store.
      if (!kept || !(await counts(kept))) return undefined
      noteUse(kept, storeOf(req))
      return signInOf(kept)
    },

    async end(req, res) {
      const session = sessionOf(req)
      clearCookie(res, cookieName, session)
      const { sessionStore } = req
      const kept = keptIn(req)
      await Promise.all([revoke(kept), settle('end the session', (done) => session.destroy(done))])
      await Promise.all([forget(sessionStore, [session.id]), kept && marks.removeOne(sessionStore, kept)])
    },

    async knows(req, those) {
      const key = those.subject === null ? keyOfSid(those) : null
      if (key === null) return (await idsOf(storeOf(req), keysOfFilter(those))).length > 0
      // A stranger may ask: the store is not listed for it.
      return usedSids.has(key) || marks.has(storeOf(req), those)
    },

    endMatching: async (req, ended) => endIn(storeOf(req), ended),
  }
}

function hasOneOf(keys: readonly string[]): (session: SignInRecord) => boolean {
  return (session) => keysOfSignIn(session).some((key) => keys.includes(key))
}

type StoredSessions = SessionData[] | Record<string, SessionData> | null | undefined

function canList(store: Store): boolean {
  return typeof store.all === 'function'
}

// Its type says that every request has one; that is so only behind the middleware, and until the session is destroyed.
function hasSession(req: Request): boolean {
  return isJsonObject(Reflect.get(req, 'session'))
}

function keptIn(req: Request): Kept | undefined {
  return hasSession(req) ? readKept(Reflect.get(req.session, KEY)) : undefined
}

function sessionOf(req: Request): Session {
  if (!hasSession(req)) throw noMiddleware()
  return req.session
}

function storeOf(req: Request): Store {
  if (!isJsonObject(Reflect.get(req, 'sessionStore'))) throw noMiddleware()
  return req.sessionStore
}

function noMiddleware(): Error {
  return new Error('There is no session: express-session has to be used before the plugin.')
}

function clearCookie(res: Response, name: string, { cookie }: Session): void {
  // A browser takes a removal only for the same path and domain, and a secure cookie's only as a secure one.
  const { path, domain, secure, httpOnly, sameSite } = cookie
  res.clearCookie(name, {
    ...(path === undefined ? {} : { path }),
    ...(domain === undefined ? {} : { domain }),
    ...(typeof secure === 'boolean' ? { secure } : {}),
    ...(httpOnly === undefined ? {} : { httpOnly }),
    ...(sameSite === undefined ? {} : { sameSite }),
    ...(Reflect.get(cookie, 'partitioned') === true ? { partitioned: true } : {}),
  })
}

function signInOf({ id: _id, ...signIn }: Kept): SignIn {
  return signIn
}

function readKept(value: unknown): Kept | undefined {
  const record = readRecord(value)
  if (!record || !isJsonObject(value)) return undefined
  const { idToken, id } = value
  if ((idToken !== null && typeof idToken !== 'string') || typeof id !== 'string') return undefined
  const tokens = value.tokens === null ? null : readTokens(value.tokens)
  return tokens === undefined ? undefined : { ...record, idToken, tokens, id }
}

type StoreCall<Result> = (done: (error?: unknown, result?: Result) => void) => void

function called<Result>(what: string, run: StoreCall<Result>): Promise<Result | undefined> {
  return new Promise<Result | undefined>((resolve, reject) => {
    // Stores report a failure by any truthy value; the middleware's own callbacks use null and undefined for success.
    run((error, result) => (error ? reject(error) : resolve(result)))
  }).catch((cause: unknown) => {
    throw new Error(`The session store could not ${what}.`, { cause })
  })
}
