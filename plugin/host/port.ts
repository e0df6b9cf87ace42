import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import type { LoginErrorCode } from '../errors.ts'
import type { RevocationStore } from './revocation-store.ts'

/**
 * The plugin's interface to the server, with the server's accounts, groups and sessions. Ready-made implementations of
 * `sessions` are in `express-session.ts` and `cookie-session.ts`.
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
   * A secret of at least 32 characters, the same in all processes and after restarts. Seals logins in progress. Without
   * it, they end at a restart, and processes cannot share them.
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
   * Called when the rules refused an authenticated user, before the answer. The server can look for an older account of
   * the user. Must not change accounts, and must not throw.
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
   * The issuer that authenticated the user, stored because other IdPs may use the same id. If undefined, keep the
   * stored one.
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
   * Creates an account. Rejects without a change if the id exists.
   *
   * @throws LoginError `account_limit` if the domain has its maximum number of accounts
   */
  create(domainKey: string, profile: Profile): Promise<void>
  /** Updates the name and e-mail address of an existing account to the values of this login. */
  update(domainKey: string, profile: Profile): Promise<void>
  setSiteAdmin(domainKey: string, id: UserId, siteAdmin: boolean): Promise<void>
  /**
   * Sets the rights that a user's IdP groups grant. Does not change a site admin, who has all rights. Without this
   * method, `groups.rights` only causes a warning.
   *
   * @param rights as in `groups.rights`
   * @param takesAway whether to revoke what groups granted earlier and no longer grant. Never revoke what an
   *   administrator granted
   * @returns whether the account changed
   */
  setRights?(domainKey: string, id: UserId, rights: readonly string[], takesAway: boolean): Promise<boolean>
}

/** The user groups of the server that mirror IdP groups. */
export interface UserGroups extends Shareable {
  /** Returns the names of the user's mirrored groups. Groups that an administrator created are not included. */
  mirroredOf(domainKey: string, id: UserId): Promise<readonly string[]>
  /**
   * Adds the user to the mirrored group of that name, and creates it if missing. Never uses an administrator's group.
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
   * When the login began or the user authenticated, whichever is later: milliseconds since 1970, by this server's
   * clock. A revocation ends sessions up to its time.
   */
  readonly startedAt: number
  /**
   * The ID token, for `id_token_hint` at logout. Null if the session cannot store it. Never write it to a log or to an
   * unencrypted cookie.
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
 * Selects the sessions that equal every member that is not null. `subject` or `sid` is set. A session without `sid`
 * matches any `sid` of its subject, which may be its own.
 */
export interface SessionFilter {
  readonly domainKey: string
  readonly issuer: string
  readonly subject: string | null
  readonly sid: string | null
  /**
   * Also selects all sessions of this account. Set if the group rules refuse the user, who may have had another subject
   * earlier. Undefined if the IdP ended the sessions.
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
   * Ends all sessions of this subject, including this one. Undefined if impossible.
   *
   * @returns how many ended, or null if unknown
   */
  endAllOfUser?(): Promise<number | null>
}

/** Decides whether sessions of an issuer are valid in a domain. */
export type IssuerRule = (session: Pick<SignIn, 'domainKey' | 'issuer'>) => boolean

/** The server's sessions. */
export interface Sessions {
  /**
   * The revocation store of all processes. Without it, a process detects a reused IdP answer only if it saw the first
   * use.
   */
  readonly revocations?: Pick<RevocationStore, 'isShared' | 'once' | 'release'>
  /**
   * Starts a session with a new id, and drops the old one, against session fixation.
   *
   * @param requestedAt when the browser left for the IdP, in milliseconds since 1970. Sessions in cookies need it to
   *   detect a session that another tab started meanwhile
   */
  start(req: Request, res: Response, signIn: SignIn, requestedAt?: number): Promise<void>
  /**
   * Returns the login that began the browser's session, or undefined if there is none. Rejects if the store fails; the
   * request then counts as not signed in. The type of `req` also suits Express 4.
   */
  current(req: IncomingMessage): Promise<SignIn | undefined>
  /**
   * Returns how many bytes of `Set-Cookie` the session may take, with names and attributes. Default 300: an identifier.
   */
  cookieBytes?(req: Request): number
  /** Ends the browser's session, even if it did not begin through the plugin. */
  end(req: Request, res: Response): Promise<void>
  /**
   * Ends the matching sessions of all browsers, even of logins in progress. `current` then returns none of them.
   * Rejects if some may remain, so that the IdP may retry.
   *
   * @param req may contain a reference to the session store
   * @returns how many ended, or null if the sessions are in cookies
   */
  endMatching(req: Request, filter: SessionFilter): Promise<number | null>
  /**
   * Whether a matching session exists. Must be cheap rather than exact, because any stranger can cause this call.
   * Undefined for sessions in cookies.
   */
  knows?(req: Request, filter: SessionFilter): Promise<boolean>
  /**
   * Returns what `endMatching` would end, so that the plugin can ask the IdP. Undefined for sessions in cookies or
   * without tokens.
   */
  matching?(req: Request, filter: SessionFilter): Promise<readonly OpenSession[]>
  /**
   * Reads the tokens of the browser's session. `current` may omit them, because it runs at every request. Undefined if
   * `current` returns them.
   */
  kept?(req: Request): Promise<Pick<SignIn, 'idToken' | 'tokens'>>
  /**
   * Yields sessions of the domain that were used since they began or were last yielded, longest waiting first.
   * Undefined if the host does not track use.
   *
   * @param forMs minimum time since a session was last yielded, in milliseconds
   */
  inUse?(domainKey: string, forMs: number): Iterable<OpenSession>
  /**
   * How often to ask the IdP about a session in use, in milliseconds. Default 0: never. In MeshCentral:
   * `sessionCheckMinutes`.
   */
  readonly checkMs?: number
  /**
   * Receives the rule for accepted issuers, before other calls. `current` must omit sessions of other issuers, because
   * their users may differ. Otherwise they survive a change of `issuer`.
   */
  acceptIssuers?(accepts: IssuerRule): void
  /**
   * Receives the secret for sealing tokens, before any other method is called. It is `host.secret`, or a secret that
   * this process generated instead.
   */
  sealBy?(secret: string): void
  /**
   * Acquires the lease to renew a session's tokens. If two processes used one refresh token, some IdPs would end the
   * session. A dead process loses it within {@link LEASE_MS}. Undefined for a single process.
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
  /** Why the login failed, for choosing a message. Do not show it to the user, because it reveals the rule. */
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
