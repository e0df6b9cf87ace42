import type { Request, Response } from 'express'
import type { Session, SessionData, Store } from 'express-session'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { SignIn } from '../port.ts'
import { readRecord, readTokens } from '../sign-in-record.ts'

/** The login that a session of express-session stores. */
export interface StoredSignIn extends SignIn {
  /** The session's own id. It is stored because some stores do not return the ids of the sessions that they list. */
  readonly id: string
}

/** The member with the login. The host's own members are lost at a login, because it starts a new session. */
interface SignInMember {
  oidcSignIn?: unknown
}

/**
 * A request that may lack a session, unlike in the types of express-session: before the middleware or after
 * destruction.
 */
type MaybeSessionRequest = Omit<Request, 'session' | 'sessionStore'> &
  Partial<Pick<Request, 'session' | 'sessionStore'>>

/** The session's cookie. Only newer versions of express-session have the attribute `partitioned`. */
type SessionCookie = Session['cookie'] & { readonly partitioned?: unknown }

export function signInOf({ id: _id, ...signIn }: StoredSignIn): SignIn {
  return signIn
}

/** Reads the login from the request's session. Returns undefined if there is no login. */
export function storedSignIn({ session }: MaybeSessionRequest): StoredSignIn | undefined {
  return isJsonObject(session) ? signInIn(session) : undefined
}

/** Reads the login from a session. Returns undefined if there is no login. */
export function signInIn(session: object): StoredSignIn | undefined {
  const { oidcSignIn }: SignInMember = session
  const record = readRecord(oidcSignIn)
  if (!record || !isJsonObject(oidcSignIn)) return undefined
  const { idToken, id } = oidcSignIn
  if ((idToken !== null && typeof idToken !== 'string') || typeof id !== 'string') return undefined
  const tokens = oidcSignIn.tokens === null ? null : readTokens(oidcSignIn.tokens)
  return tokens === undefined ? undefined : { ...record, idToken, tokens, id }
}

/** Puts a login into a session. The caller must save the session. */
export function storeSignIn(session: SessionData & SignInMember, signIn: StoredSignIn): void {
  session.oidcSignIn = signIn
}

/**
 * Returns the request's session.
 *
 * @throws Error if express-session did not run for this request
 */
export function sessionOf({ session }: MaybeSessionRequest): Session {
  if (!isJsonObject(session)) throw missingMiddleware()
  return session as unknown as Session
}

/**
 * Returns the request's session store.
 *
 * @throws Error if express-session did not run for this request
 */
export function storeOf({ sessionStore }: MaybeSessionRequest): Store {
  if (!sessionStore) throw missingMiddleware()
  return sessionStore
}

/** Removes the session's cookie from the browser. */
export function clearSessionCookie(res: Response, name: string, cookie: SessionCookie): void {
  // A browser removes a cookie only if path and domain are the same as when it was set. A secure cookie can
  // only be removed by a secure cookie.
  const { path, domain, secure, httpOnly, sameSite, partitioned } = cookie
  res.clearCookie(name, {
    ...(path === undefined ? {} : { path }),
    ...(domain === undefined ? {} : { domain }),
    ...(typeof secure === 'boolean' ? { secure } : {}),
    ...(httpOnly === undefined ? {} : { httpOnly }),
    ...(sameSite === undefined ? {} : { sameSite }),
    ...(partitioned === true ? { partitioned: true } : {}),
  })
}

function missingMiddleware(): Error {
  return new Error('The request has no session. Install express-session before the plugin.')
}
