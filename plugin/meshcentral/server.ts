import type { Application, Request, RequestHandler } from 'express'

/**
 * The part of MeshCentral 1.1.x that single sign-on uses. It is not a documented interface. So `self-test.ts` finds out
 * what a version lacks or does differently.
 */
export interface MeshServer {
  readonly config: { readonly settings: Members; readonly domains: Record<string, MeshDomain> }
  readonly db: MeshDatabase
  /** MeshCentral's version. */
  readonly currentVer?: unknown
  /** The folder of MeshCentral's configuration and database. */
  readonly datapath: string
  /** The web server. Missing until MeshCentral has set up its HTTP routes. */
  readonly webserver?: MeshWeb | null
  /** The server's certificates. Missing until MeshCentral has set up its HTTP routes. */
  readonly certificates?: { readonly CommonName: string } | null
  /** MeshCentral's key for sealed cookies, of at least 32 bytes. Null until it was read from the database. */
  readonly loginCookieEncryptionKey?: Buffer | null
  generateCookieKey(): Buffer
  readonly common: { meshServerRightsArrayToNumber(rights: unknown): unknown }
  /** Writes one line to the authentication log, if the log is configured. The text must contain no line breaks. */
  authLog(source: string, text: string): void
  /** Shows a text to site admins and on the console. */
  addServerWarning(text: string): void
  /** Sends an event to open pages and the event log, on this server and all peers. */
  DispatchEvent(targets: readonly string[], source: unknown, event: object | string): void
  /** Registers a receiver for all events that are sent to one of these targets. */
  AddEventDispatch?(targets: readonly string[], receiver: MeshEventReceiver): void
  /** Set if other MeshCentral servers share the database. */
  readonly multiServer?: object | null
  /** Encrypts a cookie, by default with the server's key. Returns null if the encryption fails. */
  encodeCookie(content: object, key?: unknown): string | null
  /**
   * Decrypts a cookie that MeshCentral sealed, such as a page's cookie for its web sockets. Returns null if
   * the cookie is invalid or expired.
   */
  decodeCookie(sealed: unknown, key?: unknown, minutes?: number): MeshCookie | null
}

/** A part of MeshCentral that receives events, such as the socket of an open page. */
export interface MeshEventReceiver {
  HandleEvent?(source: unknown, event: unknown, targets: readonly string[], target: string): void
}

/** The socket of an open page. */
export interface MeshPage extends MeshEventReceiver {
  close(): void
}

/** An object with unknown members. MeshCentral changes all keys of its configuration to lower case. */
export type Members = Record<string, unknown>

export interface MeshDomain extends Members {
  readonly id: string
  /** Path below which the domain is served, with slashes at both ends. */
  readonly url: string
  readonly dns?: string
  readonly title?: string
  /** The source of passwords if it is not MeshCentral itself, such as `ldap`. */
  readonly auth?: unknown
  authstrategies?: Members
}

export interface MeshDatabase {
  /** True if the database itself reports each change of a record, and MeshCentral sends the change as an event. */
  readonly changeStream?: boolean
  /** Finds a record by its id. Passes `done` a list that contains the record, or an empty list. */
  Get(id: unknown, done: (...answer: readonly unknown[]) => void): void
  Set(record: object, done?: (error?: unknown) => void): void
  Remove(id: string, done?: (error?: unknown) => void): void
  GetAllType(type: string, done: (error: unknown, records: readonly Members[] | null) => void): void
}

export interface MeshWeb {
  readonly app: Application
  /** The application of the separate port for agents (`settings.agentPort`), if there is one. It has no sessions. */
  readonly agentapp?: Application
  /** Users by id, `user/<domain id>/<name>`. A change takes effect in open pages at once. */
  readonly users: Record<string, MeshUser>
  /** The sockets of open pages on this server, by the ids of their users. */
  readonly wssessions?: Readonly<Record<string, readonly MeshPage[]>>
  /** Subscribes a page to the events of everything that its user has rights on. */
  subscribe?(userId: string, page: MeshEventReceiver): void
  /** User groups by id, `ugrp/<domain id>/<hash>`. */
  readonly userGroups: Record<string, MeshUserGroup>
  /** Device groups by id, `mesh/<domain id>/<hash>`. */
  readonly meshes?: Record<string, MeshDeviceGroup>
  /** When sessions were ended, in milliseconds since 1970, by `<user id>/<x>`. `x` is MeshCentral's id of a session. */
  readonly destroyedSessions: Record<string, number>
  readonly args: Members
  /** Domains by their host names, in lower case. */
  readonly dnsDomains?: Record<string, MeshDomain>
  /** The package `body-parser`. */
  readonly bodyParser: { readonly urlencoded: (options: object) => RequestHandler }
  blockedUsers: number
  CloneSafeUser(user: MeshUser): object
  /** Returns a copy of a device's record without secrets, for use in events. */
  CloneSafeNode?(device: object): object
  getUserAgentInfo(req: Pick<MeshRequest, 'headers'>): { readonly browserStr?: string; readonly osStr?: string }
  /**
   * Checks a name and a password, or a login token. All code of MeshCentral calls it, so it can be replaced.
   *
   * @see `watchTokenLogins`
   */
  authenticate: Authenticate
  /** Returns false after too many wrong passwords from the request's address. */
  checkAllowLogin(req: MeshRequest): boolean
}

/**
 * Checks credentials.
 *
 * @param done gets an error, or null and MeshCentral's id of the user
 */
export type Authenticate = (
  name: unknown,
  secret: unknown,
  domain: unknown,
  done: (error?: unknown, user?: unknown, ...more: readonly unknown[]) => void,
) => void

export interface MeshUser {
  readonly type: 'user'
  readonly _id: string
  name: string
  email?: string
  emailVerified?: boolean
  /** When the account was created, in seconds since 1970. `login` and `access` have the same unit. */
  readonly creation: number
  login: number
  access: number
  readonly domain: string
  /** Bit mask of rights. A site admin has all bits. */
  siteadmin?: number
  /** Bits of `siteadmin` that IdP groups granted. Only the plugin uses this member; MeshCentral just stores it. */
  oidcrights?: number
  /** Issuer of the last login. Only the plugin uses this member; MeshCentral just stores it. */
  oidcissuer?: string
  /** Ids of the account's realms. Site admins with realms can administer only users in the same realms. */
  groups?: readonly string[]
  /** Bit 1: the user has an image. */
  flags?: number
  links?: Record<string, { rights: number }>
}

export interface MeshUserGroup {
  readonly type: 'ugrp'
  readonly _id: string
  readonly name: string
  /** The IdP's name of a mirrored group, if it differs from `name`. Only the plugin uses this member. */
  readonly idpName?: string
  readonly desc?: string
  readonly domain: string
  /** The strategy that mirrors the group. Undefined if an administrator created the group. */
  readonly membershipType?: string
  links?: Record<string, { userid: string; name: string; rights: number }>
}

export interface MeshDeviceGroup {
  readonly _id: string
  readonly name?: string
  readonly mtype?: number
  readonly desc?: string
  readonly invite?: unknown
  /** The group's members and their rights, by the ids of users and user groups. */
  links?: Record<string, { name?: string; rights?: number }>
}

/** Content of a cookie that MeshCentral sealed, such as a page's cookie for its sockets. */
export interface MeshCookie {
  readonly userid?: unknown
  readonly ruserid?: unknown
  readonly u?: unknown
  readonly a?: unknown
  /** MeshCentral's random name of the session, if the cookie has one. */
  readonly x?: unknown
  /** A guest's cookie names the shared device (`nid`) and the public id of the share link (`pid`). */
  readonly nid?: unknown
  readonly pid?: unknown
  /** The rights in a guest's cookie. */
  readonly r?: unknown
  /** The functions that a guest shares, in bits: 1 terminal, 2 desktop, 4 files, 8 HTTP, 16 HTTPS. */
  readonly p?: unknown
  /** When a guest's cookie expires, in milliseconds since 1970. */
  readonly expire?: unknown
  /** A tunnel's cookie names the device (`nodeid`) and the device's port (`tcpport`) that the tunnel connects to. */
  readonly nodeid?: unknown
  readonly tcpport?: unknown
  /** The owner of the cookie, as `writeOwner` in `cookie-owner.ts` writes it. */
  readonly oidcSession?: unknown
  /** When the cookie was sealed, in milliseconds since 1970. Always a multiple of 1,000. */
  readonly time?: unknown
}

/** A request as it is after MeshCentral's middleware. */
export type MeshRequest = Omit<Request, 'session'> & {
  readonly xdomain?: MeshDomain
  readonly clientIp?: string
  session: Members | null
  /** The web socket, if the request opens one. */
  readonly ws?: MeshSocket
}

export interface MeshSocket {
  close(): void
  on(event: 'close', listener: () => void): unknown
  send?(...message: readonly unknown[]): unknown
  emit(event: string | symbol, ...values: readonly unknown[]): boolean
}

export const SITE_ADMIN = 0xffffffff
const LOCKED = 32

export function isLocked({ siteadmin = 0 }: MeshUser): boolean {
  // The mask of a site admin has all bits, so its lock bit does not mean that the account is locked.
  return siteadmin !== SITE_ADMIN && (siteadmin & LOCKED) !== 0
}

export function userKey(domainId: string, id: string): string {
  return `user/${domainId}/${id}`
}

/** Returns the same request with the type that it has after MeshCentral's middleware. */
export function meshRequest(req: object): MeshRequest {
  return req as MeshRequest
}
