import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import type { Account, Accounts, Profile, UserId } from '../../host/port.ts'
import { deepestMessage } from '../../log.ts'
import { askDatabase, saveRecord } from '../database.ts'
import { announceAccount, dispatch } from '../events.ts'
import {
  type Members,
  type MeshDeviceGroup,
  type MeshServer,
  type MeshUser,
  type MeshUserGroup,
  type MeshWeb,
  SITE_ADMIN,
  userKey,
} from '../server.ts'
import type { TakenDomain } from '../start/take-over.ts'
import {
  type AccountSettings,
  accountOf,
  applyProfile,
  groupsOfNewAccounts,
  mostAccounts,
  newUser,
  ownValue,
  realmsOfNewAccounts,
  rightsOfNewAccounts,
} from './account-record.ts'
import { requireSafeId } from './sanitize-name.ts'
import { addToGroup } from './user-groups.ts'

/**
 * Implements {@link Accounts} with MeshCentral's users. Each change is made in memory and in the database, and sent to
 * open pages as an event.
 */
export class MeshAccounts implements Accounts {
  readonly #server: MeshServer
  readonly #web: MeshWeb
  readonly #takenDomains: ReadonlyMap<string, TakenDomain>
  readonly #clock: Clock

  constructor(server: MeshServer, web: MeshWeb, takenDomains: ReadonlyMap<string, TakenDomain>, clock: Clock) {
    this.#server = server
    this.#web = web
    this.#takenDomains = takenDomains
    this.#clock = clock
  }

  async find(domainId: string, id: UserId): Promise<Account | undefined> {
    const user = this.#recordOf(domainId, id)
    return user && accountOf(id, user)
  }

  async create(domainId: string, profile: Profile): Promise<void> {
    requireSafeId(domainId, profile.id)
    const [server, web] = [this.#server, this.#web]
    const settings = this.#settingsOf(domainId)
    // Do not `await` before the record is in `web.users`. Otherwise two simultaneous first logins would both create the
    // account.
    if (this.#recordOf(domainId, profile.id)) throw new Error('The account already exists.')
    if (countAccounts(web, domainId) >= mostAccounts(settings.domain)) throw new LoginError('account_limit')
    const user = newUser(domainId, profile, Math.floor(this.#clock.now() / 1000))
    const rights = rightsOfNewAccounts(server, settings)
    if (rights !== undefined) user.siteadmin = rights
    const realms = realmsOfNewAccounts(settings)
    if (realms) user.groups = realms
    web.users[user._id] = user
    try {
      await this.#saveNew(user)
    } catch (error) {
      delete web.users[user._id]
      throw error
    }
    const groups = groupsOfNewAccounts(settings).flatMap(
      (name) => ownValue(web.userGroups, name.includes('/') ? name : `ugrp/${domainId}/${name}`) ?? [],
    )
    for (const group of groups) addToGroup(server, web, user, group)
    if (groups.length > 0) await Promise.all([user, ...groups].map((record) => this.#save(record)))
    announceAccount(server, web, user, 'accountcreate', `Account created, username is ${user.name}`)
  }

  async update(domainId: string, profile: Profile): Promise<void> {
    requireSafeId(domainId, profile.id)
    const user = this.#existingRecord(domainId, profile.id)
    const isChanged = applyProfile(user, profile)
    const isNewIssuer = profile.issuer !== undefined && user.oidcissuer !== profile.issuer
    if (isNewIssuer) user.oidcissuer = profile.issuer
    const records = [...renameInDeviceGroups(this.#web, user), ...(isChanged || isNewIssuer ? [user] : [])]
    await Promise.all(records.map((record) => this.#save(record)))
    if (isChanged) announceAccount(this.#server, this.#web, user, 'accountchange', 'Account changed')
  }

  async setSiteAdmin(domainId: string, id: UserId, siteAdmin: boolean): Promise<void> {
    const user = this.#existingRecord(domainId, id)
    // A former site admin gets the rights of a new account. If new accounts are site admins, the former admin gets no
    // rights.
    const rights = rightsOfNewAccounts(this.#server, this.#settingsOf(domainId))
    if (siteAdmin) user.siteadmin = SITE_ADMIN
    else if (rights === undefined || rights === SITE_ADMIN) delete user.siteadmin
    else user.siteadmin = rights
    delete user.oidcrights
    await this.#saveRights(user)
  }

  async setRights(domainId: string, id: UserId, rights: readonly string[], takesAway: boolean): Promise<boolean> {
    const user = this.#existingRecord(domainId, id)
    const mask = this.#server.common.meshServerRightsArrayToNumber([...rights])
    if (user.siteadmin === SITE_ADMIN || typeof mask !== 'number') return false
    const { siteadmin = 0, oidcrights: oldByGroups = 0 } = user
    const byHand = siteadmin & ~oldByGroups
    const byGroups = (takesAway ? mask : mask | oldByGroups) & ~byHand
    const total = byHand | byGroups
    if (total === siteadmin && byGroups === oldByGroups) return false
    user.siteadmin = total
    user.oidcrights = byGroups
    await this.#saveRights(user)
    return true
  }

  async #saveRights(user: MeshUser): Promise<void> {
    await this.#save(user)
    announceAccount(this.#server, this.#web, user, 'accountchange', `Account changed: ${user.name}`)
    // Make open pages subscribe again, so that they receive only events that the user may see now.
    dispatch(this.#server, this.#web, [user._id], 'resubscribe')
  }

  #recordOf(domainId: string, id: UserId): MeshUser | undefined {
    return ownValue(this.#web.users, userKey(domainId, id))
  }

  #existingRecord(domainId: string, id: UserId): MeshUser {
    const user = this.#recordOf(domainId, id)
    if (!user) throw new Error('The account no longer exists.')
    return user
  }

  #settingsOf(domainId: string): AccountSettings {
    const takenDomain = this.#takenDomains.get(domainId)
    if (!takenDomain) throw new Error('The domain does not sign in through the plugin.')
    const { domain, oidc } = takenDomain
    return { domain, oidc: typeof oidc === 'object' && oidc !== null ? (oidc as Members) : {} }
  }

  #save(record: MeshUser | MeshUserGroup | MeshDeviceGroup): Promise<void> {
    return saveRecord(this.#server.db, this.#clock, record)
  }

  /**
   * Saves a new account and reads its id back. Some databases shorten ids or ignore case. Such an account could replace
   * another.
   */
  async #saveNew(user: MeshUser): Promise<void> {
    const existing = await this.#storedId(user._id)
    if (existing !== undefined && existing !== user._id) throw changedByDatabase(user)
    await this.#save(user).catch((error: unknown) => {
      throw /too long/i.test(deepestMessage(error)) ? changedByDatabase(user) : error
    })
    if ((await this.#storedId(user._id)) !== user._id) throw changedByDatabase(user)
  }

  async #storedId(id: string): Promise<unknown> {
    const records = await askDatabase<unknown>(this.#clock, 'read an account', (done) => this.#server.db.Get(id, done))
    const record: unknown = Array.isArray(records) ? records[0] : undefined
    return isJsonObject(record) ? record._id : undefined
  }
}

function changedByDatabase({ _id }: MeshUser): LoginError {
  const remedy =
    "MeshCentral's database does not store this account unchanged. PostgreSQL, MariaDB and MySQL limit ids to 256 characters (`user/<domain>/~oidc:<claim>`) and e-mail addresses to 249. MariaDB and MySQL ignore letter case. Let `custom.claims.uuid` name another claim."
  return new LoginError('host_failed', { remedy, details: { account: _id } })
}

/**
 * Updates the user's name in device groups. Device groups store the name that the user had when added.
 *
 * @returns the device groups that changed
 */
function renameInDeviceGroups({ meshes = {} }: MeshWeb, user: MeshUser): readonly MeshDeviceGroup[] {
  return Object.keys(user.links ?? {}).flatMap((id) => {
    const group = ownValue(meshes, id)
    const link = group?.links && ownValue(group.links, user._id)
    if (!group || !link || link.name === user.name) return []
    link.name = user.name
    return [group]
  })
}

/**
 * Counts a domain's accounts in memory, which holds all accounts. MeshCentral's own function to count accounts never
 * answers with SQLite and PostgreSQL.
 */
function countAccounts(web: MeshWeb, domainId: string): number {
  const prefix = userKey(domainId, '')
  return Object.keys(web.users).filter((key) => key.startsWith(prefix)).length
}
