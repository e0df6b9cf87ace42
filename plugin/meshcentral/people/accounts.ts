import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import type { Account, Accounts, Profile, UserId } from '../../host/port.ts'
import { deepestMessage } from '../../log.ts'
import { askDatabase, saveRecord } from '../database.ts'
import { announceAccount, tell } from '../events.ts'
import {
  isLocked,
  type Members,
  type MeshDeviceGroup,
  type MeshServer,
  type MeshUser,
  type MeshUserGroup,
  type MeshWeb,
  SITE_ADMIN,
  userKey,
} from '../server.ts'
import type { TakenDomain } from '../take-over.ts'
import { requireSafeId, sanitizeName, withoutAngleBrackets } from './sanitize-name.ts'
import { addToGroup } from './user-groups.ts'

/** MeshCentral's own users: the live records, the database, and the events that open pages follow. */
export function meshAccounts(
  server: MeshServer,
  web: MeshWeb,
  taken: ReadonlyMap<string, TakenDomain>,
  clock: Clock,
): Accounts {
  const recordOf = (domainId: string, id: UserId): MeshUser | undefined => ownValue(web.users, userKey(domainId, id))
  const knownRecord = (domainId: string, id: UserId): MeshUser => {
    const user = recordOf(domainId, id)
    if (!user) throw new Error('The account is gone.')
    return user
  }
  const save = (record: MeshUser | MeshUserGroup | MeshDeviceGroup) => saveRecord(server.db, clock, record)

  /**
   * Databases have their own ideas of ids: what does not come back as it is would be gone with a restart, or be
   * somebody else's record.
   */
  async function keepNew(user: MeshUser): Promise<void> {
    const idThere = async () => {
      const found = await askDatabase<unknown>(clock, 'read an account', (done) => server.db.Get(user._id, done))
      const record: unknown = Array.isArray(found) ? found[0] : undefined
      return isJsonObject(record) ? record._id : undefined
    }
    const before = await idThere()
    if (before !== undefined && before !== user._id) throw notAsItIs(user)
    await save(user).catch((error: unknown) => {
      throw /too long/i.test(deepestMessage(error)) ? notAsItIs(user) : error
    })
    if ((await idThere()) !== user._id) throw notAsItIs(user)
  }

  return {
    find: async (domainId, id) => {
      const user = recordOf(domainId, id)
      return user && accountOf(id, user)
    },

    create: async (domainId, profile) => {
      requireSafeId(domainId, profile.id)
      const { domain, own } = takenDomain(taken, domainId)
      // In one go, so that of two first logins at once the second one finds the account.
      if (recordOf(domainId, profile.id)) throw new Error('The account exists by now.')
      if (liveAccounts(web, domainId) >= mostAccounts(domain)) throw new LoginError('account_limit')
      const user = newUser(domainId, withoutMarkup(profile), Math.floor(clock.now() / 1000))
      const rights = rightsOfNewAccounts(server, domain, own)
      if (rights !== undefined) user.siteadmin = rights
      const realms = textsIn(own.newaccountrealms) ?? textsIn(domain.newaccountrealms)
      if (realms) user.groups = realms
      web.users[user._id] = user
      try {
        await keepNew(user)
      } catch (error) {
        delete web.users[user._id]
        throw error
      }
      const groups = groupsOfNewAccounts(domain, own).flatMap(
        (name) => ownValue(web.userGroups, name.includes('/') ? name : `ugrp/${domainId}/${name}`) ?? [],
      )
      for (const group of groups) addToGroup(server, web, user, group)
      if (groups.length > 0) await Promise.all([user, ...groups].map(save))
      announceAccount(server, web, user, 'accountcreate', `Account created, username is ${user.name}`)
    },

    update: async (domainId, profile) => {
      requireSafeId(domainId, profile.id)
      const user = knownRecord(domainId, profile.id)
      const changed = takeOnProfile(user, withoutMarkup(profile))
      const isNewIssuer = profile.issuer !== undefined && user.oidcissuer !== profile.issuer
      if (isNewIssuer) user.oidcissuer = profile.issuer
      // Device groups keep the name that somebody had when they were let in.
      await Promise.all([...linksUnderOtherNames(web, user).map(save), ...(changed || isNewIssuer ? [save(user)] : [])])
      if (changed) announceAccount(server, web, user, 'accountchange', 'Account changed')
    },

    setSiteAdmin: async (domainId, id, siteAdmin) => {
      const user = knownRecord(domainId, id)
      const { domain, own } = takenDomain(taken, domainId)
      // Who is no site admin any more is what a new account is, not less; but none that the groups say is none.
      const rights = rightsOfNewAccounts(server, domain, own)
      if (siteAdmin) user.siteadmin = SITE_ADMIN
      else if (rights === undefined || rights === SITE_ADMIN) delete user.siteadmin
      else user.siteadmin = rights
      delete user.oidcrights
      await save(user)
      announceAccount(server, web, user, 'accountchange', `Account changed: ${user.name}`)
      // Open pages take in what they may now hear of, and no more.
      tell(server, web, [user._id], 'resubscribe')
    },

    setRights: async (domainId, id, rights, takesAway) => {
      const user = knownRecord(domainId, id)
      const given = server.common.meshServerRightsArrayToNumber([...rights])
      if (user.siteadmin === SITE_ADMIN || typeof given !== 'number') return false
      const { siteadmin = 0, oidcrights: before = 0 } = user
      const byHand = siteadmin & ~before
      const byGroups = (takesAway ? given : given | before) & ~byHand
      const now = byHand | byGroups
      if (now === siteadmin && byGroups === before) return false
      user.siteadmin = now
      user.oidcrights = byGroups
      await save(user)
      announceAccount(server, web, user, 'accountchange', `Account changed: ${user.name}`)
      tell(server, web, [user._id], 'resubscribe')
      return true
    },
  }
}

function notAsItIs({ _id }: MeshUser): LoginError {
  const remedy =
    "MeshCentral's database does not hold this account as it is. PostgreSQL, MariaDB and MySQL have ids of 256 characters (`user/<domain>/~oidc:<claim>`) and addresses of 249, and the latter two take capitals for small letters. Let `custom.claims.uuid` name another claim."
  return new LoginError('host_failed', { remedy, details: { account: _id } })
}

function accountOf(id: UserId, user: MeshUser): Account {
  return {
    id,
    name: user.name,
    email: user.email ?? null,
    siteAdmin: user.siteadmin === SITE_ADMIN,
    ...(typeof user.oidcissuer === 'string' ? { issuer: user.oidcissuer } : {}),
    ...(isLocked(user) ? { locked: true } : {}),
  }
}

function newUser(domain: string, { id, name, email, emailVerified, issuer }: Profile, seconds: number): MeshUser {
  return {
    type: 'user',
    _id: userKey(domain, id),
    name,
    ...(email === null ? {} : { email, emailVerified: countsAsVerified(emailVerified) }),
    creation: seconds,
    login: seconds,
    access: seconds,
    domain,
    ...(issuer === undefined ? {} : { oidcissuer: issuer }),
  }
}

function withoutMarkup(profile: Profile): Profile {
  const { name, email } = profile
  return { ...profile, name: sanitizeName(name), email: email === null ? null : withoutAngleBrackets(email) }
}

/** Whether anything changed. An address that MeshCentral has verified by itself stays so. */
function takeOnProfile(user: MeshUser, { name, email, emailVerified }: Profile): boolean {
  const newName = user.name !== name
  const newAddress = email !== null && user.email !== email
  const verified = countsAsVerified(emailVerified)
  const newlyVerified = email !== null && verified && user.emailVerified !== true
  if (newName) user.name = name
  if (newAddress) user.email = email
  if (newAddress || newlyVerified) user.emailVerified = verified
  return newName || newAddress || newlyVerified
}

/** Gives each link of the person the name of now. @returns the device groups that had another one */
function linksUnderOtherNames({ meshes = {} }: MeshWeb, user: MeshUser): readonly MeshDeviceGroup[] {
  return Object.keys(user.links ?? {}).flatMap((id) => {
    const group = ownValue(meshes, id)
    const link = group?.links && ownValue(group.links, user._id)
    if (!group || !link || link.name === user.name) return []
    link.name = user.name
    return [group]
  })
}

/** MeshCentral's own strategy takes an address for verified unless the IdP says that it is not. */
function countsAsVerified(emailVerified: Profile['emailVerified']): boolean {
  return emailVerified ?? true
}

function mostAccounts({ limits }: TakenDomain['domain']): number {
  const most: unknown =
    typeof limits === 'object' && limits !== null ? Reflect.get(limits, 'maxuseraccounts') : undefined
  return typeof most === 'number' ? most : Number.POSITIVE_INFINITY
}

/** All accounts are in memory. MeshCentral's own way to count them never answers on SQLite and PostgreSQL. */
function liveAccounts(web: MeshWeb, domainId: string): number {
  const start = userKey(domainId, '')
  return Object.keys(web.users).filter((key) => key.startsWith(start)).length
}

function rightsOfNewAccounts(server: MeshServer, domain: Members, oidc: Members): number | undefined {
  // The domain's own were made a number when the server started.
  const rights = oidc.newaccountsrights
    ? server.common.meshServerRightsArrayToNumber(oidc.newaccountsrights)
    : domain.newaccountsrights
  return typeof rights === 'number' && rights !== 0 ? rights : undefined
}

function groupsOfNewAccounts(domain: Members, oidc: Members): readonly string[] {
  return textsIn(oidc.newaccountsusergroups) ?? textsIn(domain.newaccountsusergroups) ?? []
}

function textsIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string') ? value : undefined
}

/** @returns the domain, and what its `oidc` object says of new accounts */
function takenDomain(
  taken: ReadonlyMap<string, TakenDomain>,
  id: string,
): { readonly domain: TakenDomain['domain']; readonly own: Members } {
  const found = taken.get(id)
  if (!found) throw new Error('The domain is not one of ours.')
  const { domain, oidc } = found
  return { domain, own: typeof oidc === 'object' && oidc !== null ? (oidc as Members) : {} }
}

/** Ids come from claims, and `__proto__` is one like another. */
function ownValue<Value>(records: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(records, key) ? records[key] : undefined
}
