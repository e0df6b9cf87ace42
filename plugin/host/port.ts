import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import type { LoginErrorCode } from '../errors.ts'
import type { RevocationStore } from './revocation-store.ts'

/**
 * The interface between the plugin and the server that it signs users in to. The server implements it with its own
 * accounts, groups and sessions. This folder has ready-made implementations of the member `sessions` for two session
 * libraries: `express-session.ts` and `cookie-session.ts`.
 */
export interface Host {
  readonly accounts: Accounts
  readonly groups: UserGroups
  readonly sessions: Sessions
  /** Tokens that open an account without the IdP. Undefined if users can sign in only at the IdP. */
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
  /** Returns the key of the domain that a request belongs to. Default: the domain of the request's host name. */
  domainOf?(req: Request): string | undefined
  /** Returns the path below which a domain is served, with slashes at both ends. Default `/`. */
  basePath?(domainKey: string): string
  /** Whether users without an account get one, if `newAccounts` is not configured. Default: they are refused. */
  newAccountsAllowed?(domainKey: string): boolean
  /** Whether only site admins may sign in at the moment. Default: all users may. */
  inMaintenance?(domainKey: string): boolean
  /**
   * Called when the rules refused a user whom the IdP authenticated, before the user sees the message. A server can use
   * it to find an existing account that may belong to the same user. It must not change any account. Must not throw.
   */
  noteRefusal?(domainKey: string, profile: Profile, code: LoginErrorCode): void
  /** Returns the IP address of the user's browser, for the authentication log. Default: Express's `req.ip`. */
  clientAddress?(req: Request): string | undefined
  /**
   * Sends the browser to the page that the user asked for before the login. `path` is a path of this server. Default: a
   * 302 redirect.
   */
  land?(req: Request, res: Response, path: string): void
}

/** An account id of the form `~oidc:<user_id>`, unique within a domain. */
export type UserId = `~oidc:${string}`

export interface Account {
  readonly id: UserId
  readonly name: string
  readonly email: string | null
  /**
   * Whether the address is verified, as in `Profile.emailVerified`. Return it if the server stores it: the account then
   * keeps it at a login during which UserInfo failed.
   */
  readonly emailVerified?: boolean | null
  readonly siteAdmin: boolean
  /** The issuer of the last login, as in `Profile.issuer`. Undefined if the account has no stored issuer. */
  readonly issuer?: string
  /** True if an administrator locked the account. The user cannot sign in, and IdP groups do not change its rights. */
  readonly locked?: boolean
}

/** The user's data that the IdP sent at a login. */
export interface Profile {
  readonly id: UserId
  readonly name: string
  readonly email: string | null
  /** True only if the IdP states that it verified the address. Null if the IdP does not state whether it did. */
  readonly emailVerified: boolean | null
  /**
   * The issuer that authenticated the user. The account stores it, because another IdP may have a different user with
   * the same id. If it is undefined, the account keeps its stored issuer.
   */
  readonly issuer?: string
}

/** Records of the server, such as its accounts. One process or several processes may write them. */
interface Shareable {
  /**
   * Whether several processes may write these records. If it is false, the plugin refuses the option `shared: true`.
   */
  readonly isShared?: boolean
}

/** The server's users. If one of these methods rejects, the login fails. */
export interface Accounts extends Shareable {
  find(domainKey: string, id: UserId): Promise<Account | undefined>
  /**
   * Creates an account. If an account with this id exists, must reject without changing it.
   *
   * @throws LoginError `account_limit` if the domain has its maximum number of accounts
   */
  create(domainKey: string, profile: Profile): Promise<void>
  /** Updates the name and e-mail address of an existing account to the values of this login. */
  update(domainKey: string, profile: Profile): Promise<void>
  setSiteAdmin(domainKey: string, id: UserId, siteAdmin: boolean): Promise<void>
  /**
   * Sets the rights that a user's IdP groups grant. Does not change a site admin, who has all rights. Omit this method
   * if the server has no rights of this kind. `groups.rights` then has no effect and causes a warning.
   *
   * @param rights the names of the rights, as in `groups.rights`
   * @param takesAway whether to revoke rights that groups granted at an earlier login and no longer grant. Never revoke
   *   rights that an administrator granted
   * @returns whether the account changed
   */
  setRights?(domainKey: string, id: UserId, rights: readonly string[], takesAway: boolean): Promise<boolean>
}

/** The user groups of the server that mirror IdP groups. */
export interface UserGroups extends Shareable {
  /** Returns the names of the user's mirrored groups. Groups that an administrator created are not included. */
  mirroredOf(domainKey: string, id: UserId): Promise<readonly string[]>
  /**
   * Adds the user to the mirrored group of that name, and creates the group if it is missing. A group of the same name
   * that an administrator created is a different group, and stays unchanged.
   */
  join(domainKey: string, id: UserId, name: string): Promise<void>
  leave(domainKey: string, id: UserId, name: string): Promise<void>
}

/**
 * Tokens of the server that open an account without the IdP, such as MeshCentral's login tokens. They work only while
 * the IdP and the group rules admit the user.
 */
export interface LoginTokens {
  /**
   * Records that the IdP admitted the user. A login enables tokens that `suspend` disabled; the renewal of a session
   * does not.
   */
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
   * The later of two times: when the login began, and when the user authenticated at the IdP. In milliseconds since
   * 1970, by this server's clock. A revocation ends the sessions that have this time or an earlier one.
   */
  readonly startedAt: number
  /**
   * The ID token, for `id_token_hint` at logout. Null if the session cannot store it. It is a secret: never write it to
   * a log, or to a cookie that is signed but not encrypted.
   */
  readonly idToken: string | null
  /**
   * The tokens for checks of the session. Null if the IdP issued no usable tokens, or if the session is in a cookie and
   * cannot store them.
   */
  readonly tokens: Tokens | null
}

/**
 * The IdP's tokens. They are secrets: never send them to a browser or write them to a log. The plugin checks sessions
 * with them and revokes them at logout.
 */
export interface Tokens {
  readonly access: string
  /** When the access token expires, in milliseconds since 1970. Null if the IdP does not state that. */
  readonly accessExpiresAt: number | null
  readonly refresh: string | null
  /**
   * Whether `offline_access` was granted, so that the refresh token outlives the IdP's session. Undefined if that is
   * unknown.
   */
  readonly offline?: boolean
}

/**
 * Selects sessions. A session matches if every member that is not null is equal. At least one of `subject` and `sid` is
 * not null. A session without a `sid` matches every `sid` of its subject, because it may be any of the subject's
 * sessions.
 */
export interface SessionFilter {
  readonly domainKey: string
  readonly issuer: string
  readonly subject: string | null
  readonly sid: string | null
  /**
   * If set, the filter also selects all sessions of this account, regardless of their issuer and subject. The plugin
   * sets this member if the group rules refuse the user, because the user may have had another subject earlier. It is
   * undefined if the IdP ended the sessions.
   */
  readonly account?: UserId
}

/** How long a process may hold a lease, in milliseconds. */
export const LEASE_MS = 10_000

/** A session's tokens, as stored on the server. They are secrets: never write them to a log. */
export interface SessionTokens extends Pick<SignIn, 'idToken' | 'tokens'> {
  /** When a process last renewed the tokens, in milliseconds since 1970. Undefined if they were never renewed. */
  readonly renewedAt?: number
}

/** An active session of any browser. */
export interface OpenSession {
  /** An identifier that stays the same for the whole life of the session. Not a secret. */
  readonly id: string
  readonly signIn: Omit<SignIn, 'idToken' | 'tokens'>
  /** Reads the session's current tokens. Returns no tokens if the session ended. Rejects if the store fails. */
  read(): Promise<SessionTokens>
  /** Replaces the tokens. Does nothing if the session ended. Undefined if the tokens cannot be renewed. */
  write?(tokens: SessionTokens): Promise<void>
  /** Ends this session only. After the promise has resolved, `current` no longer returns the session. */
  end(): Promise<void>
  /**
   * Ends all of this server's sessions that have the same subject at the IdP, including this one. Undefined if only
   * this session can be ended.
   *
   * @returns how many sessions ended, or null if that is unknown
   */
  endAllOfUser?(): Promise<number | null>
}

/** Decides whether sessions of an issuer are valid in a domain. */
export type IssuerRule = (session: Pick<SignIn, 'domainKey' | 'issuer'>) => boolean

/** The server's sessions. */
export interface Sessions {
  /**
   * The revocation store that all processes of the server share. Without it, a process detects a reused IdP answer only
   * if the process itself received that answer before.
   */
  readonly revocations?: Pick<RevocationStore, 'isShared' | 'once' | 'release'>
  /**
   * Drops the browser's old session, if there is one, and starts a session with a new id. This prevents session
   * fixation.
   *
   * @param requestedAt when the browser was sent to the IdP, in milliseconds since 1970. Hosts that store sessions in
   *   cookies use it to detect a session that another tab started during this login
   */
  start(req: Request, res: Response, signIn: SignIn, requestedAt?: number): Promise<void>
  /**
   * Returns the login that began the browser's session. Returns undefined if the browser is not signed in through the
   * plugin, or if the session ended. Rejects if the store fails; the request then counts as not signed in. The
   * parameter has Node's type, so that servers with Express 4 can call this method too.
   */
  current(req: IncomingMessage): Promise<SignIn | undefined>
  /**
   * Returns how many bytes of `Set-Cookie` the request's session may take in the response, with names and attributes.
   * Default 300, which is enough for a cookie that contains only an identifier.
   */
  cookieBytes?(req: Request): number
  /** Ends the browser's session, even if it did not begin through the plugin. */
  end(req: Request, res: Response): Promise<void>
  /**
   * Ends the matching sessions of all browsers, including sessions of logins that are still in progress. After the
   * promise has resolved, `current` returns none of these sessions. Rejects if some may remain; the IdP then gets an
   * error and may retry.
   *
   * @param req the request that caused the call. It may contain a reference to the session store
   * @returns how many sessions ended, or null if that is unknown because the sessions are in cookies
   */
  endMatching(req: Request, filter: SessionFilter): Promise<number | null>
  /**
   * Whether a matching session exists, as far as this process can determine cheaply. It must be cheap, because any
   * stranger can cause this call. Undefined if the sessions are in cookies, so that the server cannot determine it.
   */
  knows?(req: Request, filter: SessionFilter): Promise<boolean>
  /**
   * Returns the sessions that `endMatching` would end. The plugin asks the IdP about them after the IdP ended one of
   * them. Undefined if the sessions are in cookies, or have no tokens to check them with.
   */
  matching?(req: Request, filter: SessionFilter): Promise<readonly OpenSession[]>
  /**
   * Reads the tokens of the browser's session, on hosts where that needs an additional look-up. On these hosts,
   * `current` omits the tokens, because it runs at every request. Undefined if `current` returns the tokens.
   */
  kept?(req: Request): Promise<Pick<SignIn, 'idToken' | 'tokens'>>
  /**
   * Yields the sessions of a domain that are due for a check: those that were used since they were last yielded. The
   * session that has waited longest comes first. The login counts as the first yield. Undefined if the host does not
   * track the use of sessions.
   *
   * @param forMs the minimum time since a session was last yielded, in milliseconds
   */
  inUse?(domainKey: string, forMs: number): Iterable<OpenSession>
  /**
   * How often the plugin asks the IdP about a session that is in use, as an interval in milliseconds. 0 means never.
   * Default: 0; in MeshCentral, the setting `sessionCheckMinutes`.
   */
  readonly checkMs?: number
  /**
   * Receives the rule for accepted issuers, before any other method is called. `current` must not return a session of
   * an issuer that the rule rejects, because its user may be a different person. Without this method, sessions stay
   * valid after the administrator changed `issuer`.
   */
  acceptIssuers?(accepts: IssuerRule): void
  /**
   * Receives the secret for sealing tokens, before any other method is called. It is `host.secret`, or a secret that
   * this process generated instead.
   */
  sealBy?(secret: string): void
  /**
   * Acquires the lease to renew a session's tokens. Only one process at a time can hold it. IdPs that rotate refresh
   * tokens end the session if two processes use the same refresh token. A process that dies loses the lease within
   * {@link LEASE_MS}. Undefined if there is only one process.
   *
   * @param id the `id` of an {@link OpenSession}
   * @returns a function that releases the lease, or null if another process holds it
   */
  lease?(id: string): Promise<(() => Promise<void>) | null>
}

/** The reason for a failed login. The login page shows `message`, or a text of its own for the `code`. */
export interface LoginFailure {
  /** An error code in snake case. It may appear in an address, and later versions do not change it. */
  readonly code: string
  readonly message: string
  /**
   * The precise reason for the failed login. A server may use it to choose its own message. Do not show the reason
   * itself to the user, because it reveals which rule refused the login.
   */
  readonly reason: string
}

export interface LoginPage {
  /** Sends the browser to the login page, which shows the message. Must not leave the user signed in. */
  showFailure(req: Request, res: Response, domainKey: string, failure: LoginFailure): void | Promise<void>
}

/** A line of the server's authentication log. Its texts contain no control characters and no secrets. */
export interface AuthLogEntry {
  readonly level: 'info' | 'warn' | 'error'
  /** The name of the event in kebab case. Later versions do not change it. */
  readonly event: string
  readonly message: string
  readonly domain: string
  readonly fields: Readonly<Record<string, unknown>>
}
