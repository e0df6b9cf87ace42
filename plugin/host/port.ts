import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import type { RevocationStore } from './revocation-store.ts'

/**
 * The port to the server that the plugin signs users in to. The server implements the port with its own records. For
 * the member `sessions`, `express-session.ts` and `cookie-session.ts` beside this file are ready-made implementations
 * for two session libraries.
 */
export interface Host {
  readonly accounts: Accounts
  readonly groups: UserGroups
  readonly sessions: Sessions
  /** Tokens that open an account without the IdP. Absent: users can sign in only at the IdP. */
  readonly loginTokens?: LoginTokens
  readonly loginPage: LoginPage
  /** Writes one entry to the server's authentication log, for each failure, warning and login. Must not throw. */
  readonly authLog: (entry: AuthLogEntry) => void
  /**
   * A secret of at least 32 characters that survives restarts and is the same in all processes of the server. The
   * plugin seals login transactions with a key derived from it. Without it, each process generates a secret, and a
   * restart invalidates the logins in progress.
   */
  readonly secret?: string
  /** Returns the key of the domain that a request belongs to. Without it, the request's host name decides. */
  domainOf?(req: Request): string | undefined
  /** Returns the path below which a domain is served, with slashes at both ends. Without it: `/`. */
  basePath?(domainKey: string): string
  /** Whether unknown users get accounts if `newAccounts` is not configured. Without it, they are refused. */
  newAccountsAllowed?(domainKey: string): boolean
  /** Whether only site admins may sign in at the moment. Without it, all users may. */
  inMaintenance?(domainKey: string): boolean
  /** Returns the address of the user's browser, for the authentication log. Without it: Express's `req.ip`. */
  clientAddress?(req: Request): string | undefined
  /**
   * Sends the browser to the page that the user wanted before the login. `path` is a path of this server. Without this
   * method: a 302 redirect.
   */
  land?(req: Request, res: Response, path: string): void
}

/** An account id of the form `~oidc:<user_id>`, unique within a domain. */
export type UserId = `~oidc:${string}`

export interface Account {
  readonly id: UserId
  readonly name: string
  readonly email: string | null
  readonly siteAdmin: boolean
  /** The issuer of the last login, as in `Profile.issuer`. Absent: the account has no stored issuer. */
  readonly issuer?: string
  /** True if an administrator locked the account. The user cannot sign in, and IdP groups do not change its rights. */
  readonly locked?: boolean
}

/** The user's data that the IdP sent at a login. */
export interface Profile {
  readonly id: UserId
  readonly name: string
  readonly email: string | null
  /** True only if the IdP states that it verified the address. Null if the IdP says nothing about it. */
  readonly emailVerified: boolean | null
  /**
   * The issuer that authenticated the user. The account stores it, because another IdP may have a different user with
   * the same id. Absent: the account keeps its stored issuer.
   */
  readonly issuer?: string
}

/** Records that one process or several processes may write. */
interface Shareable {
  /** False: only one process may write these records. The plugin then refuses the option `shared: true`. */
  readonly isShared?: boolean
}

/** The server's users. If a method rejects, the login fails. */
export interface Accounts extends Shareable {
  find(domainKey: string, id: UserId): Promise<Account | undefined>
  /**
   * Creates an account. Must reject, and not overwrite, if an account with this id exists.
   *
   * @throws LoginError `account_limit` if the domain has its maximum number of accounts
   */
  create(domainKey: string, profile: Profile): Promise<void>
  /** Updates the name and e-mail address of an existing account to what the IdP sent at this login. */
  update(domainKey: string, profile: Profile): Promise<void>
  setSiteAdmin(domainKey: string, id: UserId, siteAdmin: boolean): Promise<void>
  /**
   * Sets the rights that a user's IdP groups grant, on servers that have such rights. A site admin has all rights and
   * is not changed. Absent: `groups.rights` has no effect on this server, and a warning says so.
   *
   * @param rights the names of the rights, as in `groups.rights`
   * @param takesAway whether to revoke rights that groups granted at an earlier login and no longer grant. Rights that
   *   an administrator granted stay
   * @returns whether the account changed
   */
  setRights?(domainKey: string, id: UserId, rights: readonly string[], takesAway: boolean): Promise<boolean>
}

/** The user groups of the server that mirror IdP groups. */
export interface UserGroups extends Shareable {
  /** Returns the names of the user's mirrored groups, without groups that an administrator created. */
  mirroredOf(domainKey: string, id: UserId): Promise<readonly string[]>
  /**
   * Adds the user to the mirrored group of that name, and creates the group if it is missing. If an administrator
   * created a group of the same name, that is a different group, which stays unchanged.
   */
  join(domainKey: string, id: UserId, name: string): Promise<void>
  leave(domainKey: string, id: UserId, name: string): Promise<void>
}

/**
 * Tokens of the server that open an account without the IdP, such as MeshCentral's login tokens. They work only while
 * the IdP and the group rules admit the user.
 */
export interface LoginTokens {
  /** Records that the IdP admitted the user. A login ends a suspension; the renewal of a session does not. */
  confirm(domainKey: string, id: UserId, occasion: 'login' | 'renewal'): Promise<void>
  /** Disables the account's tokens until its next login, and ends the sessions and sockets that tokens opened. */
  suspend(domainKey: string, id: UserId): Promise<void>
}

/** The login that began a session, as stored in the session. */
export interface SignIn {
  readonly domainKey: string
  readonly userId: UserId
  readonly issuer: string
  readonly subject: string
  /** The IdP's session id (`sid` claim), or null if the IdP sends none. */
  readonly sid: string | null
  /**
   * When the login began, or when the user authenticated at the IdP if that was later. Milliseconds since 1970, by this
   * server's clock. A revocation ends the sessions that began at its time or earlier.
   */
  readonly startedAt: number
  /**
   * The ID token, for `id_token_hint` at logout. Null if the session cannot store it. It is a secret: never write it to
   * a log, or to a cookie that is signed but not encrypted.
   */
  readonly idToken: string | null
  /** Null if the IdP issued no usable tokens, or if the session is in a cookie and cannot store them. */
  readonly tokens: Tokens | null
}

/**
 * The IdP's tokens: secrets that stay on the server and out of logs. The plugin checks sessions with them and revokes
 * them at logout.
 */
export interface Tokens {
  readonly access: string
  /** Milliseconds since 1970. Null if the IdP does not say. */
  readonly accessExpiresAt: number | null
  readonly refresh: string | null
  /** Whether `offline_access` was granted, so that the refresh token outlives the IdP's session. Absent: unknown. */
  readonly offline?: boolean
}

/**
 * Selects sessions. A session matches if it agrees with every member that is not null; at least one of `subject` and
 * `sid` is set. A session without a `sid` matches every `sid` of its subject, because it may be any of the subject's
 * sessions.
 */
export interface SessionFilter {
  readonly domainKey: string
  readonly issuer: string
  readonly subject: string | null
  readonly sid: string | null
  /**
   * An account. Its sessions match too, regardless of their issuer and subject. Set if group rules refuse the account's
   * user, who may have had another subject earlier. Absent if the IdP itself ended the sessions.
   */
  readonly account?: UserId
}

/** How long a process may hold a lease, in milliseconds. */
export const LEASE_MS = 10_000

/** A session's tokens, as stored on the server. They are secrets: never write them to a log. */
export interface SessionTokens extends Pick<SignIn, 'idToken' | 'tokens'> {
  /** When a process last renewed the tokens, in milliseconds since 1970. Absent: never. */
  readonly renewedAt?: number
}

/** An active session of any browser. */
export interface OpenSession {
  /** An identifier that is the same each time the session is returned. Not a secret. */
  readonly id: string
  readonly signIn: Omit<SignIn, 'idToken' | 'tokens'>
  /** Reads the session's current tokens, or none if the session ended. Rejects if the store fails. */
  read(): Promise<SessionTokens>
  /** Replaces the tokens. Does nothing if the session ended. Absent: the tokens cannot be renewed. */
  write?(tokens: SessionTokens): Promise<void>
  /** Ends this session only. Once it resolves, `current` no longer returns the session. */
  end(): Promise<void>
  /**
   * Ends all sessions of the same user at the IdP, including this one. Absent: only this session can be ended.
   *
   * @returns how many sessions ended. Null if unknown
   */
  endAllOfUser?(): Promise<number | null>
}

/** Decides whether sessions of an issuer are valid in a domain. */
export type IssuerRule = (session: Pick<SignIn, 'domainKey' | 'issuer'>) => boolean

/** The server's sessions. */
export interface Sessions {
  /**
   * The revocation store that all processes of the server share. Absent: there is one process, or each process detects
   * only the reuse of IdP answers that it received itself.
   */
  readonly revocations?: Pick<RevocationStore, 'isShared' | 'once' | 'release'>
  /**
   * Drops the browser's session, if it has one, and starts a session with a new id. This prevents session fixation.
   *
   * @param requestedAt when the browser was sent to the IdP, in milliseconds since 1970. The user may have
   *   authenticated there much later. Hosts that store sessions in cookies need this time if several tabs sign in at
   *   once
   */
  start(req: Request, res: Response, signIn: SignIn, requestedAt?: number): Promise<void>
  /**
   * Returns the login that began the browser's session. Undefined if the browser is not signed in through the plugin,
   * or if the session ended. Rejects if the store fails; the request then counts as not signed in. The parameter has
   * Node's type, because servers call this method too, and the types of Express 4 differ.
   */
  current(req: IncomingMessage): Promise<SignIn | undefined>
  /**
   * Returns how many bytes of `Set-Cookie` the request's session may take in the answer, with names and attributes.
   * Absent: at most 300, which is enough for an identifier.
   */
  cookieBytes?(req: Request): number
  /** Ends the browser's session, even if it did not begin through the plugin. */
  end(req: Request, res: Response): Promise<void>
  /**
   * Ends the matching sessions of all browsers, including those of logins that began before now and are still in
   * progress. Once the call resolves, `current` returns none of these sessions. Rejects if some may remain; the IdP
   * then gets an error and retries.
   *
   * @param req the request that caused the call. A host may find its session store through it
   * @returns how many sessions ended. Null if that is unknown because the sessions are in cookies
   */
  endMatching(req: Request, filter: SessionFilter): Promise<number | null>
  /**
   * Whether a matching session exists, as far as this process can tell cheaply. Any stranger can cause this call.
   * Absent: the sessions are in cookies, so the server cannot tell.
   */
  knows?(req: Request, filter: SessionFilter): Promise<boolean>
  /**
   * Returns the sessions that `endMatching` would end. The plugin asks the IdP about them after the IdP ended one of
   * them. Absent: the sessions are in cookies, or have no tokens to check them with.
   */
  matching?(req: Request, filter: SessionFilter): Promise<readonly OpenSession[]>
  /**
   * Reads the tokens of the browser's session, on hosts where that needs an extra look-up. There, `current` omits the
   * tokens, because it runs at every request. Absent: `current` returns the tokens too.
   */
  kept?(req: Request): Promise<Pick<SignIn, 'idToken' | 'tokens'>>
  /**
   * Yields a domain's sessions that were used since they were last yielded, starting with the session that waited
   * longest. The login counts as the first yield. Absent: the host does not track use.
   *
   * @param forMs the minimum time since a session was last yielded
   */
  inUse?(domainKey: string, forMs: number): Iterable<OpenSession>
  /** How often the plugin asks the IdP about a session in use. Milliseconds; 0: never. Absent: the plugin's setting. */
  readonly checkMs?: number
  /**
   * Receives the rule for accepted issuers, before any other method is called. `current` returns no session of another
   * issuer, because its user may be a different person. Absent: sessions stay valid after the administrator changed
   * `issuer`.
   */
  acceptIssuers?(accepts: IssuerRule): void
  /**
   * Receives the secret for sealing tokens, before any other method is called. It is `host.secret`, or this process's
   * substitute for it.
   */
  sealBy?(secret: string): void
  /**
   * Acquires the lease that lets one process at a time renew a session's tokens. IdPs that rotate refresh tokens end
   * the session if two processes use the same one. A process that dies loses the lease within {@link LEASE_MS}. Absent:
   * there is one process.
   *
   * @param id the `id` of an {@link OpenSession}
   * @returns a function that releases the lease; null if another process holds it
   */
  lease?(id: string): Promise<(() => Promise<void>) | null>
}

/** Why a login failed, for the login page. The page may use its own text for a code. */
export interface LoginFailure {
  /** A stable snake_case code that may appear in an address. */
  readonly code: string
  readonly message: string
  /** The precise code, for a server with its own messages. Do not show it: it reveals which rule refused the user. */
  readonly reason: string
}

export interface LoginPage {
  /** Sends the browser to the login page, which shows the message. Must not keep any part of a signed-in session. */
  showFailure(req: Request, res: Response, domainKey: string, failure: LoginFailure): void | Promise<void>
}

/** A line of the server's authentication log. Its texts contain no control characters and no secrets. */
export interface AuthLogEntry {
  readonly level: 'info' | 'warn' | 'error'
  /** A stable kebab-case name. */
  readonly event: string
  readonly message: string
  readonly domain: string
  readonly fields: Readonly<Record<string, unknown>>
}
