import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Timer } from '../../clock.ts'
import { isJsonObject, type JsonObject } from '../../config/json/json-object.ts'
import { printableText } from '../../log.ts'
import { askDatabase, saveRecord, WRITE_LIMIT_MS } from '../database.ts'
import { announceAccount, dispatch } from '../events.ts'
import {
  isLocked,
  type MeshDeviceGroup,
  type MeshServer,
  type MeshUser,
  type MeshUserGroup,
  type MeshWeb,
} from '../server.ts'
import { type LeaseTimes, leaseInDatabase } from '../sessions/lease.ts'
import { type Holdings, hasHoldings, holdingsOf, ownSiteRights, type Suggestion, suggestMoves } from './holdings.ts'
import { mergeDeviceRights, mergeSiteRights, siteLimits } from './merged-rights.ts'
import { closePages } from './peer-pages.ts'

export interface AccountMovesOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly clock: Clock
  /** Whether other servers may use the same database. */
  readonly isShared: boolean
  /** Called if a restart interrupted the move of an account, and the move could not be completed afterwards. */
  readonly onFailure: (error: unknown) => void
}

/** The two accounts of a move, by MeshCentral's ids. */
export interface MoveRequest {
  readonly from: string
  readonly to: string
  /** Whether to lock the old account after its rights and settings were moved. */
  readonly lock: boolean
  /** The name of the site admin who requested this move of an account. */
  readonly by: string
}

const TYPE = 'meshcompanionmove'
const LOCKED = 0x20
const HAS_IMAGE = 1
const NOTHING_LOGGED = { nolog: 1 }
/**
 * Times of the lease for a move. 1,000 devices take some 40 seconds. A write slower than `settleMs` blocks the move
 * until the lease expires.
 */
const MOVE_LEASE: LeaseTimes = { leaseMs: 120_000, settleMs: 2_000 }
/** Pause before another attempt to complete a move that another server is completing, in milliseconds. */
const RETRY_MS = 10_000

/**
 * Moves the rights and settings of one account of MeshCentral to another account of the same domain.
 *
 * A move first writes a record of the request. It then changes each record that names the old account, then the new
 * account, and last the old account, because its links show what remains. Finally it removes the record of the request.
 *
 * Each step is idempotent. If a move fails half-way, the administrator can repeat it. Otherwise the next start of the
 * server completes it.
 *
 * Moved: device groups and devices with their rights, user groups that no strategy mirrors, rights on the server, page
 * settings (`ws`), the image and the notes. Not moved: passwords, second factors, login tokens, files, shares, and
 * saved credentials of devices.
 */
export class AccountMoves {
  readonly #server: MeshServer
  readonly #web: MeshWeb
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  readonly #lease: ReturnType<typeof leaseInDatabase>
  #retry: Timer | undefined
  #isClosed = false

  constructor({ server, web, clock, isShared, onFailure }: AccountMovesOptions) {
    this.#lease = isShared ? leaseInDatabase(server.db, clock, MOVE_LEASE) : async () => async () => undefined
    this.#server = server
    this.#web = web
    this.#clock = clock
    this.#onFailure = onFailure
  }

  /** Finds an account of a domain by its id, or by the name at the end of its id. */
  find(domainId: string, text: string): Holdings | undefined {
    const prefix = `user/${domainId}/`
    const ids = text.startsWith('user/') ? [text] : [prefix + text, prefix + text.toLowerCase()]
    const user = ids.filter((id) => id.startsWith(prefix)).flatMap((id) => this.#user(id) ?? [])[0]
    return user && holdingsOf(this.#web, user)
  }

  suggestions(domainId: string): readonly Suggestion[] {
    return suggestMoves(this.#web, domainId)
  }

  /**
   * Moves rights and settings.
   *
   * @throws Error if an account does not exist, or if both are the same or of different domains. Also if another server
   *   is moving the old account. If the database does not answer, repeat the request or restart the server
   */
  async move(request: MoveRequest): Promise<void> {
    this.#pairOf(request)
    const isDone = await this.#withLease(recordOf(request)._id, async (assertHeld) => {
      await this.#ask('write a move', (done) => this.#server.db.Set(recordOf(request), done))
      await this.#complete(request, assertHeld)
    })
    if (!isDone) throw new Error('Another server is moving this account. Wait two minutes, then repeat the move.')
  }

  /** Completes unfinished moves. Never rejects. */
  async resume(): Promise<void> {
    try {
      const records = await askDatabase<readonly JsonObject[] | null>(this.#clock, 'list unfinished moves', (done) =>
        this.#server.db.GetAllType(TYPE, done),
      )
      let areAllDone = true
      for (const { _id: id } of records ?? []) {
        const isDone = await this.#withLease(String(id), (assertHeld) => this.#resumeOne(String(id), assertHeld))
        areAllDone &&= isDone
      }
      if (!areAllDone && !this.#isClosed) this.#retry = this.#clock.after(RETRY_MS, () => this.resume())
    } catch (error) {
      this.#onFailure(error)
    }
  }

  /** Stops waiting for moves of other servers. */
  close(): void {
    this.#isClosed = true
    this.#retry?.cancel()
  }

  /**
   * Runs a task while this server holds the lease of a move.
   *
   * @param task gets a function that throws if the lease may expire during one more write
   * @returns false if another server holds the lease
   */
  async #withLease(id: string, task: (assertHeld: () => void) => Promise<void>): Promise<boolean> {
    const beganAt = this.#clock.elapsed()
    const release = await this.#lease(id)
    if (!release) return false
    try {
      await task(() => {
        if (this.#clock.elapsed() - beganAt >= MOVE_LEASE.leaseMs - WRITE_LIMIT_MS)
          throw new Error('The database was too slow for the move of an account. Repeat the move to complete it.')
      })
    } finally {
      await release().catch(this.#onFailure)
    }
    return true
  }

  async #resumeOne(id: string, assertHeld: () => void): Promise<void> {
    // Read the record again, because another server may have completed the move before it released the lease.
    const record = await this.#read(id)
    if (!record) return
    const { from, to, lock, by } = record
    const request = { from: String(from), to: String(to), lock: lock === true, by: String(by) }
    if (this.#user(request.from) && this.#user(request.to)) {
      await this.#complete(request, assertHeld)
      return
    }
    this.#server.authLog(
      'OIDC',
      `WARN move-abandoned: ${printableText(`The unfinished move from ${request.from} to ${request.to} was abandoned, because one of the accounts no longer exists.`)}`,
    )
    await this.#removeRecord(request)
  }

  async #complete(request: MoveRequest, assertHeld: () => void): Promise<void> {
    const { from, to } = this.#pairOf(request)
    const moved = holdingsOf(this.#web, from)
    const isNewlyLocked = request.lock && !isLocked(from)
    const links: Record<string, MeshLink> = { ...to.links }
    for (const [id, link] of Object.entries(from.links ?? {})) {
      const rights = await this.#moveLink(id, link, from, to)
      if (rights !== undefined) links[id] = { ...link, ...to.links?.[id], rights }
    }
    const settings = (await this.#moveSettings(from, to)) || hasNewRealms(from, to)
    await this.#changeNewAccount(from, to, links)
    assertHeld()
    await this.#changeOldAccount(from, Object.keys(links), request.lock)
    if (hasHoldings(moved) || settings || isNewlyLocked) this.#announce(request, { ...moved, settings }, from, to)
    await this.#removeRecord(request)
  }

  /**
   * Replaces the old account in one group or device.
   *
   * @returns the new account's rights there, or undefined if unchanged
   */
  async #moveLink(id: string, link: MeshLink, from: MeshUser, to: MeshUser): Promise<number | undefined> {
    const rights = mergeDeviceRights(link.rights, to.links?.[id]?.rights)
    const group = this.#web.meshes?.[id]
    if (group) return this.#moveInDeviceGroup(group, from, to, rights)
    const userGroup = this.#web.userGroups[id]
    if (userGroup) return this.#moveInUserGroup(userGroup, from, to, link.rights)
    return id.startsWith('node/') ? this.#moveOnDevice(id, from, to, rights) : undefined
  }

  async #moveInDeviceGroup(group: MeshDeviceGroup, from: MeshUser, to: MeshUser, rights: number): Promise<number> {
    group.links ??= {}
    group.links[to._id] = { name: to.name, rights }
    delete group.links[from._id]
    await saveRecord(this.#server.db, this.#clock, group)
    const { _id: meshid, name, mtype, desc, invite, links } = group
    const byGroups = Object.keys(links).filter((id) => id.startsWith('ugrp/'))
    this.#dispatch(['*', meshid, ...byGroups, from._id, to._id], to, {
      ...{ etype: 'mesh', action: 'meshchange', meshid, name, mtype, desc, invite, links },
      msg: `Moved ${from.name} to ${to.name} in device group ${name}`,
    })
    return rights
  }

  async #moveInUserGroup(
    group: MeshUserGroup,
    from: MeshUser,
    to: MeshUser,
    rights: number,
  ): Promise<number | undefined> {
    if (group.membershipType !== undefined) return undefined
    group.links ??= {}
    group.links[to._id] = { userid: to._id, name: to.name, rights }
    delete group.links[from._id]
    await saveRecord(this.#server.db, this.#clock, group)
    const { _id: ugrpid, name, desc, links } = group
    this.#dispatch(['*', ugrpid, from._id, to._id], to, {
      ...{ etype: 'ugrp', action: 'usergroupchange', ugrpid, name, desc, links },
      msg: `Moved ${from.name} to ${to.name} in user group ${name}`,
    })
    return rights
  }

  async #moveOnDevice(id: string, from: MeshUser, to: MeshUser, rights: number): Promise<number | undefined> {
    const device = await this.#read(id)
    if (!device) return undefined
    const links: Record<string, unknown> = { ...(isJsonObject(device.links) ? device.links : {}) }
    links[to._id] = { rights }
    delete links[from._id]
    const changed = { ...device, links }
    await this.#write(changed)
    const node = this.#web.CloneSafeNode?.(changed)
    if (node)
      this.#dispatch(['*', String(device.meshid), id, from._id, to._id], to, {
        ...{ etype: 'node', action: 'changenode', nodeid: id, node },
        msg: `Moved ${from.name} to ${to.name} on device ${String(device.name)}`,
      })
    return rights
  }

  /** @returns whether a record was written. False if the new account has the settings already */
  async #moveSettings(from: MeshUser, to: MeshUser): Promise<boolean> {
    let isChanged = false
    for (const kind of ['ws', 'im', 'nt']) {
      const [old, present] = [await this.#read(kind + from._id), await this.#read(kind + to._id)]
      // If the new account has page settings (`ws`), overwrite them. If it has an image (`im`) or notes (`nt`), they
      // stay.
      if (!old || (present && kind !== 'ws')) continue
      const copy = { ...old, _id: kind + to._id }
      if (isDeepStrictEqual(copy, present)) continue
      await this.#write(copy)
      isChanged = true
    }
    return isChanged
  }

  async #changeNewAccount(from: MeshUser, to: MeshUser, links: NonNullable<MeshUser['links']>): Promise<void> {
    to.links = links
    const rights = mergeSiteRights(ownSiteRights(from), to.siteadmin)
    if (rights !== 0) to.siteadmin = rights
    const realms = [...new Set([...(to.groups ?? []), ...(from.groups ?? [])])]
    if (realms.length > 0) to.groups = realms
    if (((from.flags ?? 0) & HAS_IMAGE) !== 0) to.flags = (to.flags ?? 0) | HAS_IMAGE
    await saveRecord(this.#server.db, this.#clock, to)
  }

  async #changeOldAccount(from: MeshUser, moved: readonly string[], lock: boolean): Promise<void> {
    for (const id of moved) delete from.links?.[id]
    const { oidcrights = 0 } = from
    const rights = siteLimits(from.siteadmin) | oidcrights | (lock ? LOCKED : 0)
    if (rights === 0) delete from.siteadmin
    else from.siteadmin = rights
    await saveRecord(this.#server.db, this.#clock, from)
  }

  /** Announces a finished move: updates open pages, and writes one event to MeshCentral's event log. */
  #announce(
    { lock, by }: MoveRequest,
    moved: Holdings & { readonly settings: boolean },
    from: MeshUser,
    to: MeshUser,
  ): void {
    dispatch(this.#server, this.#web, [from._id], 'resubscribe')
    dispatch(this.#server, this.#web, [to._id], 'resubscribe')
    const oldText = `Account changed: ${from.name}`
    announceAccount(this.#server, this.#web, from, 'accountchange', oldText, {
      ...NOTHING_LOGGED,
      nodeListChange: from._id,
    })
    const { deviceGroups, userGroups, devices } = moved
    const counts = `${deviceGroups.length} device groups, ${devices.length} devices, ${userGroups.length} user groups`
    const details = `${counts}${moved.siteAdmin ? ', site administration' : ''}${moved.settings ? ', settings' : ''}${lock ? '; the old account is locked' : ''}`
    const text = `${by} moved the rights and settings of ${from._id} to ${to._id}: ${details}`
    const change = { nodeListChange: to._id }
    // Each peer stores the events that it receives from other peers, so the peers receive a copy that is not stored.
    announceAccount(this.#server, this.#web, to, 'accountchange', text, { ...change, nopeers: 1 })
    if (this.#server.multiServer)
      announceAccount(this.#server, this.#web, to, 'accountchange', text, { ...change, ...NOTHING_LOGGED })
    this.#server.authLog('OIDC', `INFO account-moved: ${printableText(text)}`)
    if (lock) closePages(this.#web, from._id)
  }

  #dispatch(targets: readonly string[], user: MeshUser, event: object): void {
    const noAction = this.#server.db.changeStream ? { noact: 1 } : {}
    const common = { userid: user._id, username: user.name, domain: user.domain }
    dispatch(this.#server, this.#web, targets, { ...common, ...event, ...NOTHING_LOGGED, ...noAction })
  }

  #pairOf({ from, to }: MoveRequest): { readonly from: MeshUser; readonly to: MeshUser } {
    const [old, next] = [this.#user(from), this.#user(to)]
    if (!old || !next) throw new Error('A move needs both accounts, but one of them no longer exists.')
    if (from === to || old.domain !== next.domain) throw new Error('A move needs two accounts of one domain.')
    return { from: old, to: next }
  }

  #user(id: string): MeshUser | undefined {
    return Object.hasOwn(this.#web.users, id) ? this.#web.users[id] : undefined
  }

  async #read(id: string): Promise<JsonObject | undefined> {
    const records = await askDatabase<unknown>(this.#clock, 'read the settings of an account', (done) =>
      this.#server.db.Get(id, done),
    )
    const record: unknown = Array.isArray(records) ? records[0] : undefined
    return isJsonObject(record) ? record : undefined
  }

  #write(record: object): Promise<void> {
    return this.#ask('write the settings of an account', (done) => this.#server.db.Set(record, done))
  }

  #removeRecord(request: MoveRequest): Promise<void> {
    return this.#ask('end a move', (done) => this.#server.db.Remove(recordOf(request)._id, done))
  }

  async #ask(task: string, run: (done: (error?: unknown) => void) => void): Promise<void> {
    await askDatabase(this.#clock, task, run, WRITE_LIMIT_MS)
  }
}

/** Whether the old account has a realm that the new account does not have. */
function hasNewRealms({ groups = [] }: MeshUser, to: MeshUser): boolean {
  return groups.some((realm) => !to.groups?.includes(realm))
}

type MeshLink = NonNullable<MeshUser['links']>[string]

/**
 * Returns the record of a move. Its id contains a digest of the old account's id, because some databases limit ids to
 * 256 characters.
 */
function recordOf(
  request: MoveRequest,
): MoveRequest & { readonly _id: string; readonly type: string; readonly domain: string } {
  const digest = createHash('sha256').update(request.from).digest('hex')
  return { _id: `${TYPE}/${digest}`, type: TYPE, domain: '', ...request }
}
