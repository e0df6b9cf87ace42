import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import { type CookieSignIn, cookieSessions, cookieSignIn } from '../../host/cookie-session.ts'
import type { IssuerRule, OpenSession, SessionFilter, Sessions, SessionTokens, SignIn } from '../../host/port.ts'
import { endOfNow } from '../../host/revocation-store.ts'
import { keyOfHandle, keysOfFilter } from '../../host/revocations.ts'
import { NO_TOKENS } from '../../host/sign-in-record.ts'
import { saveRecord } from '../database.ts'
import { announceLogin, announceLogout } from '../events.ts'
import { type MeshRequest, type MeshServer, type MeshWeb, meshRequest, userKey } from '../server.ts'
import { keyOfDirectLogins, keyOfSealed, type SessionOwner } from './cookie-owner.ts'
import { keysOfOpen, type OpenSessions, type SeenSession } from './open-sessions.ts'
import type { RevocationTimes, RevokedSessions } from './revoked-sessions.ts'
import type { SessionSecrets } from './session-secrets.ts'

export interface MeshSessionsOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly revocations: RevokedSessions
  readonly open: OpenSessions
  readonly secrets: SessionSecrets
  /** Lets one server at a time renew the tokens of a session. Undefined if there is only one server. */
  readonly lease?: Sessions['lease'] | undefined
  readonly clock: Clock
  /** Called if closing a session failed, so that it may still be open. */
  readonly onFailure: (error: unknown) => void
}

/**
 * How long the revocation of sealed cookies is stored. MeshCentral opens no sealed cookie that is more than 4 hours
 * old.
 */
const SEALED_MS = 5 * 60 * 60_000
/** How long `destroyedSessions` lists an ended session, in milliseconds. MeshCentral itself uses the same time. */
const DESTROYED_MS = 2 * 60 * 60_000
const MOST_AGE_MS = 14 * 24 * 60 * 60_000

/** Returns how long a session is valid after its login, in milliseconds. */
export function maxAgeOf({ args }: MeshWeb): number {
  return Math.max(MOST_AGE_MS, Number(args.sessiontime ?? 0) * 60_000)
}

/** A session as MeshCentral identifies it: by its user and its random name `x`. */
type NamedSession = Pick<SeenSession, 'user' | 'x'>

/**
 * Implements {@link Sessions} for MeshCentral. A session is a signed cookie, which MeshCentral's own code reads too. It
 * contains MeshCentral's members and the plugin's record of the login, which identifies the session. The tokens are
 * stored on the server. With them, the plugin asks the IdP about the session. At the end, it revokes them.
 *
 * A login starts a session. A logout, the IdP, an administrator, or another login in the same browser ends it. The
 * plugin then revokes its keys, closes its sockets and removes its tokens, all concurrently. Otherwise sockets would
 * stay open while a slow database writes.
 *
 * This class finds only sessions that sent a request to this process. Revocations end all other sessions too.
 */
export class MeshSessions implements Sessions {
  readonly lease?: NonNullable<Sessions['lease']>
  readonly #options: MeshSessionsOptions
  readonly #cookies: ReturnType<typeof cookieSessions>
  readonly #maxAgeMs: number
  #acceptsIssuer: IssuerRule = () => true

  constructor(options: MeshSessionsOptions) {
    const { web, revocations, clock, lease } = options
    this.#options = options
    this.#maxAgeMs = maxAgeOf(web)
    this.#cookies = cookieSessions({ revocations, maxAgeMs: this.#maxAgeMs, clock })
    if (lease) this.lease = lease
  }

  async start(req: Request, res: Response, signIn: SignIn, requestedAt = signIn.startedAt): Promise<void> {
    const { server, web, clock } = this.#options
    const request = meshRequest(req)
    const user = web.users[userKey(signIn.domainKey, signIn.userId)]
    if (!user) throw new Error('The account no longer exists.')
    const ofOtherTab = startedByOtherTab(request, signIn, requestedAt)
    if (ofOtherTab && (await this.#cookies.current(req))) {
      if (ofOtherTab.signIn.sid !== signIn.sid) this.#continueWith(request, ofOtherTab, signIn)
      return
    }
    user.login = user.access = Math.floor(this.#now() / 1000)
    const previous = ownSession(request)
    const writes = [this.#cookies.start(req, res, signIn), saveRecord(server.db, clock, user)]
    await this.#closeWhileWriting(Promise.all(writes), previous ? [previous] : [])
    Object.assign(request.session ?? {}, {
      userid: user._id,
      // Binds the session to the client's IP address. MeshCentral compares the address at each request.
      ip: request.clientIp,
      x: randomBytes(6).toString('base64'),
      begun: this.#now(),
    })
    announceLogin(server, web, request, user)
    const started = cookieSignIn(request)
    if (started) this.#keepTokens(signIn, started)
  }

  acceptIssuers(accepts: IssuerRule): void {
    this.#acceptsIssuer = accepts
    this.#cookies.acceptIssuers(accepts)
  }

  /**
   * Whether sessions of an issuer are valid. Sessions of a former issuer are not, unless it is configured as a previous
   * issuer.
   */
  acceptsIssuer(session: Parameters<IssuerRule>[0]): boolean {
    return this.#acceptsIssuer(session)
  }

  /**
   * Whether a session is valid, by this process's memory. False until the database was read.
   *
   * @param keys the session's revocation keys
   */
  counts({ signIn }: SeenSession, keys: readonly string[]): boolean {
    const { startedAt } = signIn
    const endedAt = this.#options.revocations.latest(keys) ?? Number.NEGATIVE_INFINITY
    return startedAt > endedAt && startedAt + this.#maxAgeMs > this.#now() && this.acceptsIssuer(signIn)
  }

  /** Whether the session that owns a cookie ended. Rejects if the database fails. */
  async hasEnded({ keys, startedAt, until, from }: SessionOwner): Promise<boolean> {
    if (from !== undefined && !this.acceptsIssuer(from)) return true
    const latestEnd = startedAt + this.#maxAgeMs
    if (Math.min(until ?? latestEnd, latestEnd) <= this.#now()) return true
    return startedAt <= ((await this.#options.revocations.endedAt(keys)) ?? Number.NEGATIVE_INFINITY)
  }

  async current(req: IncomingMessage): Promise<SignIn | undefined> {
    return ownSession(meshRequest(req)) ? this.#cookies.current(req) : undefined
  }

  cookieBytes(req: Request): number {
    return this.#cookies.cookieBytes(req)
  }

  async end(req: Request, res: Response): Promise<void> {
    const { server, web } = this.#options
    const request = meshRequest(req)
    const { userid, x } = request.session ?? {}
    const session = ownSession(request)
    const user = typeof userid === 'string' ? web.users[userid] : undefined
    const written = this.#cookies.end(req, res)
    if (!session && typeof userid === 'string' && typeof x === 'string') this.#destroy([{ user: userid, x }])
    await this.#closeWhileWriting(written, session ? [session] : [])
    if (user) announceLogout(server, web, request, user)
  }

  async endMatching(_req: unknown, filter: SessionFilter): Promise<null> {
    const { revocations, open, secrets } = this.#options
    const keys = keysOfFilter(filter)
    const sessions = open.find(keys)
    // If a session has belonged to several IdP sessions, its cookie contains only the keys of the last. Revoke it by
    // its own key too.
    const moved = sessions.filter((session) => open.keysOf(session).length > keysOfOpen(session.signIn).length)
    const endedAt = endOfNow(revocations, this.#now())
    const written = Promise.all([
      revocations.revoke(keys, endedAt, endedAt + this.#maxAgeMs),
      ...moved.map((session) => this.endOne(session)),
    ])
    open.end(keys)
    secrets.removeMatching(keys)
    await this.#closeWhileWriting(written, sessions, open.findRelayed(keys))
    return null
  }

  async kept(req: Request): Promise<SessionTokens> {
    const session = ownSession(meshRequest(req))
    return session ? this.#options.secrets.read(session.signIn.handle) : NO_TOKENS
  }

  async knows(_req: unknown, filter: SessionFilter): Promise<boolean> {
    const { open, secrets } = this.#options
    const keys = keysOfFilter(filter)
    return open.find(keys).length > 0 || secrets.hasMatching(keys)
  }

  async matching(_req: unknown, filter: SessionFilter): Promise<readonly OpenSession[]> {
    return this.#options.open.find(keysOfFilter(filter)).map((session) => this.#openSession(session))
  }

  *inUse(domainKey: string, forMs: number): Iterable<OpenSession> {
    for (const session of this.#options.open.inUse(domainKey, forMs)) yield this.#openSession(session)
  }

  /** Ends one session, in whichever browser it is open, and closes its open pages. */
  endOne(session: SeenSession): Promise<void> {
    const { handle, startedAt } = session.signIn
    return this.#endByKeys([keyOfHandle(handle)], startedAt + this.#maxAgeMs, [session])
  }

  /**
   * Ends the sessions and sockets that MeshCentral itself began for a user. This applies on all servers that share the
   * database.
   */
  async endDirectLogins(user: string): Promise<void> {
    const { revocations, open } = this.#options
    const keys = [keyOfDirectLogins(user)]
    const now = this.#now()
    const written = revocations.revoke(keys, endOfNow(revocations, now), now + this.#maxAgeMs)
    open.end(keys)
    await this.#closeWhileWriting(written, [], open.findRelayed(keys))
  }

  /** Closes the pages of sessions that another server revoked in the shared database, and removes their tokens. */
  async closeRevoked(times: RevocationTimes): Promise<void> {
    const { open } = this.#options
    const sessions = open.find(times)
    open.end(times)
    await Promise.all(this.#close(sessions, open.findRelayed(times)))
  }

  /**
   * Cleans up after ended sessions: adds them to MeshCentral's own list, closes their sockets and deletes their tokens.
   * Handles all sessions in one call, because an IdP may end thousands.
   *
   * @param relayed sessions that opened web relays
   * @returns the writes in progress
   */
  #close(sessions: readonly SeenSession[], relayed: readonly NamedSession[]): readonly Promise<void>[] {
    const { revocations, open, secrets } = this.#options
    this.#destroy([...sessions, ...relayed])
    open.end(sessions.map(({ signIn }) => keyOfHandle(signIn.handle)))
    for (const { signIn } of sessions) secrets.remove(signIn.handle)
    const users = new Set(sessions.map(({ user }) => user))
    // Sealed cookies of an unidentified session stop working when the user's last session ends.
    const signedOut = [...users].filter((user) => !open.hasSession(user))
    const now = this.#now()
    const written = signedOut.map((user) =>
      revocations.revoke([keyOfSealed(user)], endOfNow(revocations, now), now + SEALED_MS),
    )
    open.end(signedOut.map(keyOfSealed))
    return written
  }

  /** Closes sessions while their revocation is being written. Settles when all writes have settled. */
  async #closeWhileWriting(
    written: Promise<unknown>,
    sessions: readonly SeenSession[],
    relayed: readonly NamedSession[] = [],
  ): Promise<void> {
    const all = [written, ...this.#close(sessions, relayed)]
    await Promise.allSettled(all)
    await Promise.all(all)
  }

  #endByKeys(keys: readonly string[], until: number, sessions: readonly SeenSession[]): Promise<void> {
    const { revocations } = this.#options
    return this.#closeWhileWriting(revocations.revoke(keys, endOfNow(revocations, this.#now()), until), sessions)
  }

  #openSession(session: SeenSession): OpenSession {
    const { secrets } = this.#options
    const { handle, ...signIn } = session.signIn
    return {
      id: keyOfHandle(handle),
      signIn,
      read: () => secrets.read(handle),
      write: (tokens) => secrets.replace(handle, tokens),
      end: () => this.endOne(session),
      endAllOfUser: () => this.endMatching(undefined, { ...signIn, sid: null, account: signIn.userId }),
    }
  }

  /**
   * Attaches a session to another IdP session, so that the end of either ends it. Tabs that sign in at once may get one
   * each, but share a session here.
   */
  #continueWith(request: MeshRequest, session: SeenSession, { sid, idToken, tokens }: SignIn): void {
    const { open } = this.#options
    const moved = { ...session, signIn: { ...session.signIn, sid } }
    open.note(session)
    open.note(moved)
    const record: unknown = request.session?.oidcSignIn
    if (isJsonObject(record)) Object.assign(record, { sid })
    this.#keepTokens({ ...moved.signIn, idToken, tokens }, session.signIn)
  }

  #keepTokens(signIn: SignIn, { handle, startedAt }: CookieSignIn): void {
    const { open, secrets, onFailure } = this.#options
    const dropped = secrets.keep(signIn, handle, startedAt + this.#maxAgeMs)
    // End a session that lost its tokens. Without them, the plugin cannot ask the IdP whether the session ended there.
    if (dropped) this.#endByKeys([dropped], this.#now() + this.#maxAgeMs, open.find([dropped])).catch(onFailure)
  }

  /** Puts sessions into MeshCentral's own list of ended sessions. */
  #destroy(sessions: readonly NamedSession[]): void {
    const { destroyedSessions } = this.#options.web
    const now = this.#now()
    for (const [name, endedAt] of Object.entries(destroyedSessions)) {
      if (endedAt < now - DESTROYED_MS) delete destroyedSessions[name]
    }
    for (const { user, x } of sessions) destroyedSessions[`${user}/${x}`] = now
  }

  #now(): number {
    return this.#options.clock.now()
  }
}

/**
 * Returns the request's session if another tab of the same user started it during this login. Both tabs then use it. A
 * new session would sign out the other tab while its page is loading, and the answer to that page could overwrite the
 * new session's cookie.
 */
function startedByOtherTab(req: MeshRequest, signIn: SignIn, requestedAt: number): SeenSession | undefined {
  const session = ownSession(req)
  // Not the time of authentication: the user may enter the password long after the other tab's session started.
  if (!session || !(Number(req.session?.begun) >= requestedAt)) return undefined
  const { domainKey, userId, issuer, subject } = session.signIn
  const isSameUser = domainKey === signIn.domainKey && userId === signIn.userId
  return isSameUser && issuer === signIn.issuer && subject === signIn.subject ? session : undefined
}

/**
 * Returns the request's session if a login of the plugin began it, and MeshCentral's own members of the session name
 * the same user.
 */
export function ownSession(req: MeshRequest): SeenSession | undefined {
  const signIn = cookieSignIn(req)
  if (!signIn) return undefined
  const user = userKey(signIn.domainKey, signIn.userId)
  const { userid, x } = req.session ?? {}
  return userid === user && typeof x === 'string' ? { signIn, user, x } : undefined
}
