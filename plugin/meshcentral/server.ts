import type { Application, Request, RequestHandler } from 'express'

/**
 * The part of MeshCentral that single sign-on uses, as of 1.1.x. None of it is a documented interface: `self-test.ts`
 * says what a version lacks, or has otherwise.
 */
export interface MeshServer {
  readonly config: { readonly settings: Members; readonly domains: Record<string, MeshDomain> }
  readonly db: MeshDatabase
  /** Its version. */
  readonly currentVer?: unknown
  /** The folder of its configuration and its database. */
  readonly datapath: string
  /** There once the HTTP routes are set up. */
  readonly webserver?: MeshWeb | null
  /** The same. */
  readonly certificates?: { readonly CommonName: string } | null
  /** At least 32 bytes that lie in the database; null until that is read. */
  readonly loginCookieEncryptionKey?: Buffer | null
  generateCookieKey(): Buffer
  readonly common: { meshServerRightsArrayToNumber(rights: unknown): unknown }
  /** Writes one line to the authentication log, if there is one. Does not strip line breaks. */
  authLog(source: string, text: string): void
  /** Shown to site admins, and on the console. */
  addServerWarning(text: string): void
  /** Tells all open pages and the event log, here and at all peers. */
  DispatchEvent(targets: readonly string[], source: unknown, event: object | string): void
  /** There where other servers work with the same database. */
  readonly multiServer?: object | null
  /** Seals what proves later who may do something. Null when it cannot. Without a key it is the server's own. */
  encodeCookie(content: object, key?: unknown): string | null
  /**
   * Opens what MeshCentral sealed, such as the cookies by which a page opens its web sockets; null when that is not
   * good any more.
   */
  decodeCookie(sealed: unknown, key?: unknown, minutes?: number): MeshCookie | null
}

/** Keys are in lower case: MeshCentral rewrites its configuration so. */
export type Members = Record<string, unknown>

export interface MeshDomain extends Members {
  readonly id: string
  /** Path below which it is served, with slashes at both ends. */
  readonly url: string
  readonly dns?: string
  readonly title?: string
  authstrategies?: Members
}

export interface MeshDatabase {
  /** True when changes come back from the database as events of their own. */
  readonly changeStream?: boolean
  /** The record of that id, in a list that has one or none. */
  Get(id: unknown, done: (...answer: readonly unknown[]) => void): void
  Set(record: object, done?: (error?: unknown) => void): void
  Remove(id: string, done?: (error?: unknown) => void): void
  GetAllType(type: string, done: (error: unknown, records: readonly Members[] | null) => void): void
}

export interface MeshWeb {
  readonly app: Application
  /** Of the port for agents, where it has one of its own (`settings.agentPort`). It knows no sessions. */
  readonly agentapp?: Application
  /** By id, `user/<domain id>/<name>`; live: what is changed here holds in open pages at once. */
  readonly users: Record<string, MeshUser>
  /** By id, `ugrp/<domain id>/<hash>`. */
  readonly userGroups: Record<string, MeshUserGroup>
  /** Device groups by id, `mesh/<domain id>/<hash>`. */
  readonly meshes?: Record<string, MeshDeviceGroup>
  /** `<user id>/<x>` → when the session was ended, in milliseconds since 1970. */
  readonly destroyedSessions: Record<string, number>
  readonly args: Members
  /** Domains by their host names, in lower case: where requests of that name go. */
  readonly dnsDomains?: Record<string, MeshDomain>
  /** The package of that name. */
  readonly bodyParser: { readonly urlencoded: (options: object) => RequestHandler }
  blockedUsers: number
  CloneSafeUser(user: MeshUser): object
  /** A device's record without secrets, for events. */
  CloneSafeNode?(device: object): object
  getUserAgentInfo(req: Request): { readonly browserStr?: string; readonly osStr?: string }
  /**
   * Checks a name and a password, or a login token. All ways in that take one call it by this name, so that it can be
   * replaced.
   *
   * @see `watchTokenLogins`
   */
  authenticate: Authenticate
  /** False after too many failed passwords from one address. */
  checkAllowLogin(req: Request): boolean
}

/** @param done gets an error, or null and MeshCentral's id of the user */
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
  /** Seconds since 1970, as the other two. */
  readonly creation: number
  login: number
  access: number
  readonly domain: string
  /** A mask of rights; all of them is a site admin. */
  siteadmin?: number
  /** Those of its mask that groups of the IdP gave. MeshCentral keeps it and makes nothing of it. */
  oidcrights?: number
  /** The issuer of its last login. MeshCentral keeps it and makes nothing of it. */
  oidcissuer?: string
  /** Realms, that is groups of users who administer one another. */
  groups?: readonly string[]
  /** Bit 1: the user has an image. */
  flags?: number
  links?: Record<string, { rights: number }>
}

export interface MeshUserGroup {
  readonly type: 'ugrp'
  readonly _id: string
  readonly name: string
  /**
   * Of a mirrored group, what the IdP calls it, where that is not its name here. MeshCentral keeps it and makes nothing
   * of it.
   */
  readonly idpName?: string
  readonly desc?: string
  readonly domain: string
  /** Who mirrors it; groups that were made by hand have none. */
  readonly membershipType?: string
  links?: Record<string, { userid: string; name: string; rights: number }>
}

export interface MeshDeviceGroup {
  readonly _id: string
  readonly name?: string
  readonly mtype?: number
  readonly desc?: string
  readonly invite?: unknown
  /** By the ids of users and user groups. */
  links?: Record<string, { name?: string; rights?: number }>
}

/** What a page proves itself with, sealed by MeshCentral. */
export interface MeshCookie {
  readonly userid?: unknown
  readonly ruserid?: unknown
  readonly u?: unknown
  readonly a?: unknown
  /** MeshCentral's random name of the session, where it writes one. */
  readonly x?: unknown
  /** Device and public name of what a user shares with a guest. */
  readonly nid?: unknown
  readonly pid?: unknown
  /**
   * Of a guest: rights, what is shared (bits: 1 terminal, 2 desktop, 4 files, 8 HTTP, 16 HTTPS), and until when, in
   * milliseconds since 1970.
   */
  readonly r?: unknown
  readonly p?: unknown
  readonly expire?: unknown
  /** Device and port that a tunnel leads to. */
  readonly nodeid?: unknown
  readonly tcpport?: unknown
  /** Whose session it belongs to: ours. */
  readonly oidcSession?: unknown
  /** Milliseconds since 1970, of whole seconds. */
  readonly time?: unknown
}

/** A request behind MeshCentral's own middleware. */
export type MeshRequest = Request & {
  readonly xdomain?: MeshDomain
  readonly clientIp?: string
  session: Members | null
  /** Where the request opens a web socket. */
  readonly ws?: MeshSocket
}

export interface MeshSocket {
  close(): void
  on(event: 'close', listener: () => void): unknown
  emit(event: string | symbol, ...values: readonly unknown[]): boolean
}

export const SITE_ADMIN = 0xffffffff
const LOCKED = 32

export function isLocked({ siteadmin = 0 }: MeshUser): boolean {
  // Site admins have every bit, that one too.
  return siteadmin !== SITE_ADMIN && (siteadmin & LOCKED) !== 0
}

export function userKey(domainId: string, id: string): string {
  return `user/${domainId}/${id}`
}
