import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Clock, systemClock } from '../clock.ts'
import { isJsonObject } from '../config/json/json-object.ts'
import type { IssuerRule, Sessions } from './port.ts'
import { endOfNow, type RevocationStore } from './revocation-store.ts'
import { keyOfHandle, keysOfFilter, keysOfSignIn, MAX_SESSION_MS, withTimeLimit } from './revocations.ts'
import { readRecord, type SignInRecord } from './sign-in-record.ts'
import { timeLimit } from './time-limit.ts'

export interface CookieSessionsOptions {
  /**
   * The store of ended sessions. Copies of an ended session's cookie are refused only while this store remembers the
   * logout. `memoryRevocations()` forgets it at a restart.
   */
  readonly revocations: RevocationStore
  /** Time limit of one operation of the revocation store, in milliseconds. Default 10,000. */
  readonly storeTimeoutMs?: number
  /**
   * How long a session is valid after its login, and how long its revocation is stored, in milliseconds. Default 14
   * days.
   */
  readonly maxAgeMs?: number
  readonly now?: () => number
  /**
   * The clock. Default: the machine's clock.
   *
   * @internal
   */
  readonly clock?: Clock
}

/** The member of `req.session` that holds the login. */
const KEY = 'oidcSignIn'
const USER_PREFIX = '~oidc:'
/**
 * Limit of the session cookie's size in bytes. All cookies of a response stay below 2 KB, because nginx allows 4 KB of
 * headers by default. Other cookies need the rest.
 */
const MOST_BYTES = 1_440
/** Size of the session's cookies apart from their content, in bytes: names, attributes and signature. */
const OVERHEAD_BYTES = 262

/** A request with a cookie session. */
export interface SessionRequest {
  session?: unknown
}

/** The login that a cookie session stores. */
export interface CookieSignIn extends SignInRecord {
  /** The session's random identifier. */
  readonly handle: string
}

/**
 * Implements {@link Sessions} for `cookie-session`, or other middleware that stores `req.session` in a signed cookie.
 * Install the middleware before the plugin's routes.
 *
 * The cookie contains no tokens, so logouts at the IdP lack `id_token_hint`. Logins with the ID token of a user in 25
 * groups failed with status 502, because nginx limits headers to 4 KB.
 *
 * If the revocation store fails or times out, methods reject and the request counts as not signed in.
 */
export function cookieSessions(
  options: CookieSessionsOptions,
): Sessions & Required<Pick<Sessions, 'cookieBytes' | 'acceptIssuers'>> {
  const { storeTimeoutMs = 10_000, maxAgeMs = MAX_SESSION_MS, clock = systemClock } = options
  const { now = () => clock.now() } = options
  const revocations = withTimeLimit(options.revocations, timeLimit(clock, storeTimeoutMs))

  let acceptsIssuer: IssuerRule = () => true

  /** Revokes a session, because copies of its cookie may exist. */
  async function revoke({ handle, startedAt }: CookieSignIn): Promise<void> {
    if (startedAt + maxAgeMs <= now()) return
    // If the clock stepped back since the login, use the login's time. A revocation ends no session that began later.
    const endedAt = Math.max(endOfNow(revocations, now()), startedAt)
    await revocations.revoke([keyOfHandle(handle)], endedAt, startedAt + maxAgeMs)
  }

  return {
    revocations,

    async start(req, _res, { idToken: _idToken, tokens: _tokens, ...record }) {
      const previous = cookieSignIn(req)
      const started: CookieSignIn = { ...record, handle: randomBytes(16).toString('base64url') }
      const stored = withoutRepetition(started)
      // Count the size of the domain key and the user id twice, because MeshCentral stores them in the cookie a second
      // time.
      const isTooLarge = bytesOf([stored, started.domainKey, started.userId]) > MOST_BYTES
      // Replace the old session even if the login fails below. No part of the old session may survive a login.
      replaceSession(req, isTooLarge ? null : { [KEY]: stored })
      if (isTooLarge) throw new Error('The sign-in is too large for a cookie.')
      try {
        if (previous) await revoke(previous)
      } catch (error) {
        replaceSession(req, null)
        throw error
      }
    },

    async current(req: IncomingMessage & SessionRequest) {
      const stored = cookieSignIn(req)
      if (!stored || stored.startedAt + maxAgeMs <= now() || !acceptsIssuer(stored)) return undefined
      const { handle, ...record } = stored
      const signIn = { ...record, idToken: null, tokens: null }
      const endedAt = await revocations.endedAt([keyOfHandle(handle), ...keysOfSignIn(signIn)])
      return endedAt !== undefined && stored.startedAt <= endedAt ? undefined : signIn
    },

    acceptIssuers(accepts) {
      acceptsIssuer = accepts
    },

    cookieBytes: (req: SessionRequest) => bytesOf(req.session),

    async end(req) {
      const stored = cookieSignIn(req)
      replaceSession(req, null)
      if (stored) await revoke(stored)
    },

    async endMatching(_req, filter) {
      const endedAt = endOfNow(revocations, now())
      await revocations.revoke(keysOfFilter(filter), endedAt, endedAt + maxAgeMs)
      return null
    },
  }
}

/** Reads the login from a request's session, even if the session expired or was revoked. */
export function cookieSignIn({ session }: SessionRequest): CookieSignIn | undefined {
  const value = isJsonObject(session) ? session[KEY] : undefined
  if (!isJsonObject(value) || typeof value.handle !== 'string') return undefined
  const { handle, userId, subject = String(userId).slice(USER_PREFIX.length) } = value
  const record = readRecord(value, subject)
  return record && { ...record, handle }
}

/**
 * Omits the subject from the cookie if the user id contains the subject, which is the usual case. `cookieSignIn` then
 * reads the subject from the user id.
 */
function withoutRepetition({ subject, ...record }: CookieSignIn): Partial<CookieSignIn> {
  return record.userId === `${USER_PREFIX}${subject}` ? record : { ...record, subject }
}

/** Returns the size of the session cookie in bytes. cookie-session encodes the session as base64. */
function bytesOf(session: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(session ?? {})) / 3) * 4 + OVERHEAD_BYTES
}

function replaceSession(req: SessionRequest, session: object | null): void {
  if (!('session' in req)) throw new Error('The request has no session. Install cookie-session before the plugin.')
  req.session = session
}
