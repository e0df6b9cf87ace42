import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import type { RevocationStore } from './revocation-store.ts'

/**
 * What the plugin needs of the server that it is a login method of. The server implements it over its own records;
 * `express-session.ts` and `cookie-session.ts` beside this file supply the sessions part over two session libraries.
 */
export interface Host {
  readonly accounts: Accounts
  readonly groups: UserGroups
  readonly sessions: Sessions
  /** Absent: a login at the IdP is the only way into its accounts. */
  readonly loginTokens?: LoginTokens
  readonly loginPage: LoginPage
  /** The server's authentication log. Called once for each failure, warning and login; must not throw. */
  readonly authLog: (entry: AuthLogEntry) => void
  /**
   * At least 32 characters that outlive a restart and are the same in all processes of the server; login transactions
   * are sealed with a key derived from it. Without it each process makes its own, and logins under way die with it.
   */
  readonly secret?: string
  /** Key of the domain that a request belongs to; without it the request's host name decides. */
  domainOf?(req: Request): string | undefined
  /** Path below which a domain is served, with slashes at both ends; without it `/`. */
  basePath?(domainKey: string): string
  /** Whether the server lets unknown users in where `newAccounts` is not configured; without it they are refused. */
  newAccountsAllowed?(domainKey: string): boolean
  /** Whether nobody but site admins may sign in at the moment; without it everybody may. */
  inMaintenance?(domainKey: string): boolean
  /** Address of the person at the browser, for the authentication log; without it Express's `req.ip`. */
  clientAddress?(req: Request): string | undefined
  /** Sends the browser on to where a login was to lead, a path of this server; without it by 302. */
  land?(req: Request, res: Response, path: string): void
}

/** Shape `~oidc:<user_id>`, unique within a domain. */
export type UserId = `~oidc:${string}`

export interface Account {
  readonly id: UserId
  readonly name: string
  readonly email: string | null
  readonly siteAdmin: boolean
  /** The issuer of the last login, as `Profile.issuer` had it; absent: none is remembered. */
  readonly issuer?: string
  /**
   * True when an administrator has locked the account: it signs nobody in, and no group of the IdP changes its rights.
   */
  readonly locked?: boolean
}

/** What a login says of a person. */
export interface Profile {
  readonly id: UserId
  readonly name: string
  readonly email: string | null
  /** True only when the IdP vouches for the address; null when it says nothing about it. */
  readonly emailVerified: boolean | null
  /**
   * The issuer that vouches for the user. Accounts remember it, because another IdP may have another user of the same
   * id. Absent: what is remembered stays.
   */
  readonly issuer?: string
}

/** Kept for one process or for several. */
interface Shareable {
  /** False: one process has to be the only one that writes, so `shared: true` is refused. */
  readonly isShared?: boolean
}

/** The server's users. A rejection fails the login. */
export interface Accounts extends Shareable {
  find(domainKey: string, id: UserId): Promise<Account | undefined>
  /**
   * Must fail rather than overwrite when the id exists by now.
   *
   * @throws LoginError `account_limit`: there are as many accounts as there may be
   */
  create(domainKey: string, profile: Profile): Promise<void>
  /** A login of a known user: name and address as the IdP has them now. */
  update(domainKey: string, profile: Profile): Promise<void>
  setSiteAdmin(domainKey: string, id: UserId, siteAdmin: boolean): Promise<void>
  /**
   * Gives the rights that somebody's groups give, for servers that have such rights. A site admin has them all, and is
   * left alone. Absent: `groups.rights` has no effect here, and a warning says so.
   *
   * @param rights names, as `groups.rights` has them
   * @param takesAway whether what groups gave at an earlier login, and do not give now, is taken away. What was given
   *   by hand stays
   * @returns whether anything was changed
   */
  setRights?(domainKey: string, id: UserId, rights: readonly string[], takesAway: boolean): Promise<boolean>
}

/** The server's user groups, as far as the plugin mirrors groups of the IdP there. */
export interface UserGroups extends Shareable {
  /** Names of the mirrored groups that the user is in. Groups that an administrator made by hand are not among them. */
  mirroredOf(domainKey: string, id: UserId): Promise<readonly string[]>
  /**
   * Adds the user to the mirrored group of that name, making it when it is missing. A group made by hand that bears the
   * name is another group: it is never taken over, and the mirrored one stands beside it.
   */
  join(domainKey: string, id: UserId, name: string): Promise<void>
  leave(domainKey: string, id: UserId, name: string): Promise<void>
}

/**
 * Tokens of the server's own that open an account without the IdP, such as MeshCentral's login tokens. They work only
 * while the IdP and the group rules still admit the user.
 */
export interface LoginTokens {
  /** Notes a login that succeeded, which ends a suspension, or a session that the IdP renewed, which does not. */
  confirm(domainKey: string, id: UserId, by: 'login' | 'renewal'): Promise<void>
  /** Lets no token of the account work until its next login, and ends the sessions and sockets that tokens opened. */
  suspend(domainKey: string, id: UserId): Promise<void>
}

/** What a session has to remember of the login that began it. */
export interface SignIn {
  readonly domainKey: string
  readonly userId: UserId
  readonly issuer: string
  readonly subject: string
  /** The IdP's session id (`sid` claim), where it has one. */
  readonly sid: string | null
  /**
   * When the login began, or when the person authenticated at the IdP where that was later, by this server's clock.
   * Milliseconds since
   * 1970. What ended sessions before then did not end this one.
   */
  readonly startedAt: number
  /**
   * For `id_token_hint`; null when the session could not keep it. A secret: never in a log, nor in a cookie that others
   * can read.
   */
  readonly idToken: string | null
  /** Null when the IdP gave none of use, or the session lies with the browser and could not keep them. */
  readonly tokens: Tokens | null
}

/**
 * Secrets: on the server only, never in a log. They let the IdP be asked about the session, and are revoked at a
 * logout.
 */
export interface Tokens {
  readonly access: string
  /** Milliseconds since 1970; null when the IdP does not say. */
  readonly accessExpiresAt: number | null
  readonly refresh: string | null
  /**
   * Whether `offline_access` was granted: the refresh token outlives the IdP's session. Sessions of older versions do
   * not say.
   */
  readonly offline?: boolean
}

/**
 * Sessions that an IdP has ended: those that agree in all that is not null, which is at least one of subject and sid. A
 * session that knows no sid may be any of its subject's, and agrees with each of them.
 */
export interface SessionFilter {
  readonly domainKey: string
  readonly issuer: string
  readonly subject: string | null
  readonly sid: string | null
  /**
   * The account whose sessions have ended as well, whatever issuer and subject they have: group rules refuse its user,
   * who may have been another subject before. Absent: an IdP has spoken of its own sessions.
   */
  readonly account?: UserId
}

/** How long a process has at most for what it alone may do. */
export const LEASE_MS = 10_000

/** What a session keeps on the server of its login. Secrets: never in a log. */
export interface SessionTokens extends Pick<SignIn, 'idToken' | 'tokens'> {
  /** When they were last renewed, by whichever process. Milliseconds since 1970; absent: not yet. */
  readonly renewedAt?: number
}

/** A session of whichever browser. */
export interface OpenSession {
  /** The same whenever it is told of, and no secret. */
  readonly id: string
  readonly signIn: Omit<SignIn, 'idToken' | 'tokens'>
  /** What is kept of it now; nothing once it has ended. A rejection means that nobody knows. */
  read(): Promise<SessionTokens>
  /**
   * Puts others in the place of what is kept; nothing where the session has ended. Absent: its tokens cannot be
   * renewed.
   */
  write?(kept: SessionTokens): Promise<void>
  /** Ends this one and no other. Once it resolves, `current` does not know it any more. */
  end(): Promise<void>
  /**
   * Ends all sessions of the same user at the IdP, this one among them. Absent: only this one can be ended.
   *
   * @returns how many there were; null when that cannot be told
   */
  endAllOfUser?(): Promise<number | null>
}

/** Whether sessions of that issuer count in that domain. */
export type IssuerRule = (session: Pick<SignIn, 'domainKey' | 'issuer'>) => boolean

/** The server's sessions. */
export interface Sessions {
  /**
   * Where several processes serve them: what they share. Absent: there is one process, or each knows for itself what
   * was used.
   */
  readonly revocations?: Pick<RevocationStore, 'isShared' | 'once' | 'release'>
  /**
   * Drops the browser's session, if any, and begins one under a new id, so that no id from before the login is signed
   * in.
   *
   * @param requestedAt when the browser was sent to the IdP, which may be long before the person authenticated there.
   *   Milliseconds since
   *   1970. A host with sessions in cookies needs it where several tabs sign in at the same time
   */
  start(req: Request, res: Response, signIn: SignIn, requestedAt?: number): Promise<void>
  /**
   * What the browser's session was started with, in this request or an earlier one; undefined when it is not signed in
   * through the plugin, or was ended meanwhile. A rejection means that nobody knows: then nobody is signed in. It takes
   * the request that came with the session; servers ask too, and by the types of Express 4 that is one of Node's only.
   */
  current(req: IncomingMessage): Promise<SignIn | undefined>
  /**
   * Bytes of `Set-Cookie`, names and attributes included, that the session of a request may take in its answer as it is
   * now. Absent: at most 300, as an identifier takes.
   */
  cookieBytes?(req: Request): number
  /** Ends the browser's session, whoever began it. */
  end(req: Request, res: Response): Promise<void>
  /**
   * Ends the sessions of other browsers that an IdP has ended, those too whose login began before now and is still
   * under way. Once it resolves, `current` knows none of them any more. A rejection means that some may go on: the IdP
   * is told, and tries again.
   *
   * @param req the one that brought the news; it only leads to where the sessions are
   * @returns how many there were; null when that cannot be told, since they lie with the browsers
   */
  endMatching(req: Request, ended: SessionFilter): Promise<number | null>
  /**
   * Whether there is one of these sessions, as far as this process can tell without asking much: a stranger may say
   * that it has ended. Absent: they lie with the browsers, and nobody knows.
   */
  knows?(req: Request, those: SessionFilter): Promise<boolean>
  /**
   * The sessions that `endMatching` would end, with what was kept of their logins. They are what the IdP is asked about
   * when it has told of one of them. Absent: they lie with the browsers, or have no tokens to ask with.
   */
  matching?(req: Request, those: SessionFilter): Promise<readonly OpenSession[]>
  /**
   * What is kept of the login of the browser's session where it takes time to read: `current` leaves it out there,
   * being asked at each request. Absent: `current` has all that there is.
   */
  kept?(req: Request): Promise<Pick<SignIn, 'idToken' | 'tokens'>>
  /**
   * The sessions of a domain that were used since they were last handed out here, those first that were handed out
   * longest ago. The login counts as such a time. Absent: nobody keeps track of that.
   *
   * @param forMs those that were handed out less than that ago are left out
   */
  inUse?(domainKey: string, forMs: number): Iterable<OpenSession>
  /**
   * How often the IdP is asked about a session in use, in milliseconds. 0: never. Absent: as the plugin was mounted
   * with.
   */
  readonly checkMs?: number
  /**
   * Tells it which issuers count, before anything else: `current` knows no session of another one, because its user may
   * be somebody else. Absent: a session goes on after `issuer` was replaced.
   */
  acceptIssuers?(accepts: IssuerRule): void
  /** Tells it `host.secret`, or what holds for this process in its place, before anything else: to seal tokens by. */
  sealBy?(secret: string): void
  /**
   * Lets one process at a time renew the tokens of a session: at IdPs that give each refresh token once, two at the
   * same time kill each other's. One that dies loses it within {@link LEASE_MS}. Absent: there is one process.
   *
   * @param id of an {@link OpenSession}
   * @returns gives it back; null: another process has it
   */
  lease?(id: string): Promise<(() => Promise<void>) | null>
}

/** Texts for a person, one per code; the page picks its own words when it has better ones. */
export interface LoginFailure {
  /** Stable snake_case code, safe in an address. */
  readonly code: string
  readonly message: string
  /**
   * What failed in detail, for a server that has messages of its own. Not for a person's eyes: it tells which rule
   * refused.
   */
  readonly reason: string
}

export interface LoginPage {
  /** Sends the browser to the login page, which shows the message. Must not keep anything of a signed-in session. */
  showFailure(req: Request, res: Response, domainKey: string, failure: LoginFailure): void | Promise<void>
}

/** One line of the server's authentication log. All text in it is free of control characters and secrets. */
export interface AuthLogEntry {
  readonly level: 'info' | 'warn' | 'error'
  /** Stable kebab-case name. */
  readonly event: string
  readonly message: string
  readonly domain: string
  readonly fields: Readonly<Record<string, unknown>>
}
