import { randomBytes } from 'node:crypto'
import type { Request } from 'express'
import { type Clock, systemClock } from '../clock.ts'
import { isJsonObject } from '../config/json/json-object.ts'
import type { IssuerRule, Sessions } from './port.ts'
import { endOfNow, type RevocationStore } from './revocation-store.ts'
import { keyOfHandle, keysOfFilter, keysOfSignIn, MAX_SESSION_MS, withTimeLimit } from './revocations.ts'
import { readRecord, type SignInRecord } from './sign-in-record.ts'
import { timeLimit } from './time-limit.ts'

export interface CookieSessionsOptions {
  /**
   * Remembers which sessions have ended. A cookie is good until the server says otherwise, so this decides what a
   * logout is worth: with `memoryRevocations()` each ended session whose cookie somebody kept is back after a restart.
   */
  readonly revocations: RevocationStore
  /** How long the store of revocations may take for one operation. Default 10,000. */
  readonly storeTimeoutMs?: number
  /** How long a session counts after its login, and how long its end is remembered. Default: 14 days. */
  readonly maxAgeMs?: number
  readonly now?: () => number
  /**
   * Default: that of this machine.
   *
   * @internal
   */
  readonly clock?: Clock
}

/** Where the login stands in the session. */
const KEY = 'oidcSignIn'
const USER_PREFIX = '~oidc:'
/**
 * nginx takes 4 KB of answer headers with its defaults, and all cookies of an answer are to stay below 2: a login under
 * way and what it takes back have their room beside this, and 100 characters that the host adds.
 */
const MOST_BYTES = 1_440
/** Of names, attributes and signature. */
const BYTES_BESIDE = 262

/** What a session in a cookie keeps of the login that began it. */
export interface CookieSignIn extends SignInRecord {
  /** Random name of this very session. */
  readonly handle: string
}

/**
 * The sessions of a server that uses `cookie-session`, or whatever else keeps `req.session` in a signed cookie and
 * nowhere else. The middleware has to be in place before the plugin's routes. Tokens are not kept, so a logout at the
 * IdP has no `id_token_hint`: nginx with its defaults takes 4 KB of answer headers, and with an ID token of 25 groups
 * in a cookie each login was a 502. Everything rejects when the store of revocations fails or does not answer in time;
 * then nobody is signed in.
 */
export function cookieSessions(
  options: CookieSessionsOptions,
): Sessions & Required<Pick<Sessions, 'cookieBytes' | 'acceptIssuers'>> {
  const { storeTimeoutMs = 10_000, maxAgeMs = MAX_SESSION_MS, clock = systemClock } = options
  const { now = () => clock.now() } = options
  const revocations = withTimeLimit(options.revocations, timeLimit(clock, storeTimeoutMs))

  let acceptsIssuer: IssuerRule = () => true

  /** A copy of the cookie may be anywhere. */
  async function revoke({ handle, startedAt }: CookieSignIn): Promise<void> {
    if (startedAt + maxAgeMs <= now()) return
    // However the clock was set meanwhile.
    const endedAt = Math.max(endOfNow(revocations, now()), startedAt)
    await revocations.revoke([keyOfHandle(handle)], endedAt, startedAt + maxAgeMs)
  }

  return {
    revocations,

    async start(req, _res, { idToken: _idToken, tokens: _tokens, ...record }) {
      const before = cookieSignIn(req)
      const kept: CookieSignIn = { ...record, handle: randomBytes(16).toString('base64url') }
      const stored = withoutRepetition(kept)
      // MeshCentral names domain and user once more in it.
      const tooLarge = bytesOf([stored, kept.domainKey, kept.userId]) > MOST_BYTES
      // Whatever was in the session before does not outlive a login, nor one that fails from here on.
      replaceSession(req, tooLarge ? null : { [KEY]: stored })
      if (tooLarge) throw new Error('The sign-in is too large for a cookie.')
      try {
        if (before) await revoke(before)
      } catch (error) {
        replaceSession(req, null)
        throw error
      }
    },

    async current(req: Request) {
      const kept = cookieSignIn(req)
      if (!kept || kept.startedAt + maxAgeMs <= now() || !acceptsIssuer(kept)) return undefined
      const { handle, ...record } = kept
      const signIn = { ...record, idToken: null, tokens: null }
      const endedAt = await revocations.endedAt([keyOfHandle(handle), ...keysOfSignIn(signIn)])
      return endedAt !== undefined && kept.startedAt <= endedAt ? undefined : signIn
    },

    acceptIssuers(accepts) {
      acceptsIssuer = accepts
    },

    cookieBytes: (req) => bytesOf(Reflect.get(req, 'session')),

    async end(req) {
      const kept = cookieSignIn(req)
      replaceSession(req, null)
      if (kept) await revoke(kept)
    },

    async endMatching(_req, ended) {
      const at = endOfNow(revocations, now())
      await revocations.revoke(keysOfFilter(ended), at, at + maxAgeMs)
      return null
    },
  }
}

/** What the session of a request says of its login, whether that still counts or not. */
export function cookieSignIn(req: Request): CookieSignIn | undefined {
  const session: unknown = Reflect.get(req, 'session')
  const value = isJsonObject(session) ? session[KEY] : undefined
  if (!isJsonObject(value) || typeof value.handle !== 'string') return undefined
  const { handle, userId, subject = String(userId).slice(USER_PREFIX.length) } = value
  const record = readRecord(value, subject)
  return record && { ...record, handle }
}

/** Most people are known by their subject. */
function withoutRepetition({ subject, ...record }: CookieSignIn): Partial<CookieSignIn> {
  return record.userId === `${USER_PREFIX}${subject}` ? record : { ...record, subject }
}

/** In base64, as cookie-session writes it. */
function bytesOf(session: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(session ?? {})) / 3) * 4 + BYTES_BESIDE
}

function replaceSession(req: Request, session: object | null): void {
  if (!('session' in req)) throw new Error('There is no session: cookie-session has to be used before the plugin.')
  Reflect.set(req, 'session', session)
}
