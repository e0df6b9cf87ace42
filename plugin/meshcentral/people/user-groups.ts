import { createHash, createHmac } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { UserGroups, UserId } from '../../host/port.ts'
import { printableFields, printableText } from '../../log.ts'
import { saveRecord } from '../database.ts'
import { announceAccount, announceGroup, dispatch } from '../events.ts'
import { type MeshServer, type MeshUser, type MeshUserGroup, type MeshWeb, userKey } from '../server.ts'
import { sanitizeName } from './sanitize-name.ts'

/**
 * The `membershipType` of new groups. MeshCentral's built-in strategy writes the preset's name instead if there is a
 * preset.
 */
const OURS = 'oidc'
const MEMBER = 1

/** Implements {@link UserGroups} with MeshCentral's user groups, including those that its built-in strategy created. */
export class MeshUserGroups implements UserGroups {
  readonly #server: MeshServer
  readonly #web: MeshWeb
  readonly #clock: Clock
  /** The `membershipType` values of groups that the plugin mirrors. */
  readonly #marks: ReadonlySet<string>
  /**
   * Ids of the groups for which `#warnOfNamesake` has looked for another group of the same name. It checks each group
   * once after a start.
   */
  readonly #compared = new Set<string>()

  /** @param presets names of all presets */
  constructor(server: MeshServer, web: MeshWeb, presets: readonly string[], clock: Clock) {
    this.#server = server
    this.#web = web
    this.#clock = clock
    this.#marks = new Set([OURS, ...presets])
  }

  async mirroredOf(domainId: string, id: UserId): Promise<readonly string[]> {
    const groups = this.#mirroredGroups(this.#userOf(domainId, id))
    for (const group of groups) this.#warnOfNamesake(group)
    return groups.map(nameAtIdp)
  }

  async join(domainId: string, id: UserId, name: string): Promise<void> {
    const user = this.#userOf(domainId, id)
    const groupId = mirroredIds(domainId, name).find((candidate) => !this.#isTaken(candidate))
    if (groupId === undefined)
      throw new Error('All ids for the mirrored group belong to groups that the plugin does not mirror.')
    const group = this.#recordOf(groupId) ?? createGroup(this.#server, this.#web, user, groupId, name)
    this.#warnOfNamesake(group)
    addToGroup(this.#server, this.#web, user, group)
    announceMembership(this.#server, this.#web, user)
    await this.#save(user, group)
  }

  async leave(domainId: string, id: UserId, name: string): Promise<void> {
    const user = this.#userOf(domainId, id)
    for (const group of this.#mirroredGroups(user)) {
      if (nameAtIdp(group) !== name) continue
      delete user.links?.[group._id]
      announceMembership(this.#server, this.#web, user)
      const isLinked = group.links && Object.hasOwn(group.links, user._id)
      delete group.links?.[user._id]
      if (isLinked) announceGroup(this.#server, this.#web, user, group, 72)
      await this.#save(user, group)
    }
  }

  #userOf(domainId: string, id: string): MeshUser {
    const user = this.#web.users[userKey(domainId, id)]
    if (!user) throw new Error('The account no longer exists.')
    return user
  }

  #recordOf(groupId: string): MeshUserGroup | undefined {
    return Object.hasOwn(this.#web.userGroups, groupId) ? this.#web.userGroups[groupId] : undefined
  }

  #mirroredGroups(user: MeshUser): readonly MeshUserGroup[] {
    return Object.keys(user.links ?? {}).flatMap((link) => {
      const group = this.#recordOf(link)
      return group && this.#isMirrored(group) && group.domain === user.domain ? [group] : []
    })
  }

  #isMirrored({ membershipType }: MeshUserGroup): boolean {
    return membershipType !== undefined && this.#marks.has(membershipType)
  }

  #isTaken(groupId: string): boolean {
    const group = this.#recordOf(groupId)
    return group !== undefined && !this.#isMirrored(group)
  }

  /** Logs a warning if another strategy of MeshCentral, such as LDAP or SAML, mirrors a group of the same name. */
  #warnOfNamesake(group: MeshUserGroup): void {
    if (this.#compared.has(group._id)) return
    this.#compared.add(group._id)
    const names = [group.name, nameAtIdp(group)]
    const namesake = Object.values(this.#web.userGroups).find(
      (candidate) =>
        names.includes(candidate.name) && candidate.domain === group.domain && this.#isOfOtherStrategy(candidate),
    )
    if (namesake) this.#server.authLog('OIDC', nameTaken(group, namesake))
  }

  #isOfOtherStrategy({ membershipType }: MeshUserGroup): boolean {
    return membershipType !== undefined && !this.#marks.has(membershipType)
  }

  async #save(user: MeshUser, group: MeshUserGroup): Promise<void> {
    await Promise.all([user, group].map((record) => saveRecord(this.#server.db, this.#clock, record)))
  }
}

function nameTaken(group: MeshUserGroup, namesake: MeshUserGroup): string {
  const ourId = JSON.stringify(printableText(group._id))
  const otherId = JSON.stringify(printableText(namesake._id))
  const fields = { name: group.name, group: group._id, other: namesake._id, otherType: namesake.membershipType }
  return `WARN group-name-taken: Two user groups have the same name: ours is ${ourId}, and another strategy mirrors ${otherId}. Rights on devices stay with the other group: move them to ours, then delete the other group. ${JSON.stringify(printableFields(fields))}`
}

/** Links the records of a user and a group to each other. The caller saves them. */
export function addToGroup(server: MeshServer, web: MeshWeb, user: MeshUser, group: MeshUserGroup): void {
  user.links ??= {}
  user.links[group._id] = { rights: MEMBER }
  group.links ??= {}
  group.links[user._id] = { userid: user._id, name: user.name, rights: MEMBER }
  announceGroup(server, web, user, group, 71)
}

/**
 * Returns the IdP's name of a group. If MeshCentral's pages cannot show that name, the group has a different name
 * there.
 */
function nameAtIdp({ name, idpName }: MeshUserGroup): string {
  return idpName ?? name
}

function createGroup(server: MeshServer, web: MeshWeb, user: MeshUser, _id: string, idpName: string): MeshUserGroup {
  const name = sanitizeName(idpName)
  const group: MeshUserGroup = {
    type: 'ugrp',
    _id,
    name,
    ...(name === idpName ? {} : { idpName }),
    domain: user.domain,
    membershipType: OURS,
    links: {},
  }
  web.userGroups[_id] = group
  // Pages must act on this event, so omit `noact`. Even a database that reports changes to open pages does not report
  // new groups.
  dispatch(server, web, ['*', _id, user._id], {
    etype: 'ugrp',
    ugrpid: _id,
    name,
    action: 'createusergroup',
    links: group.links,
    msgid: 69,
    msgArgv: [name],
    msg: `User group created: ${name}`,
    ugrpdomain: user.domain,
  })
  return group
}

function announceMembership(server: MeshServer, web: MeshWeb, user: MeshUser): void {
  dispatch(server, web, [user._id], 'resubscribe')
  const msg = `User group membership changed: ${user.name}`
  announceAccount(server, web, user, 'accountchange', msg, { msgid: 67, msgArgs: [user.name] })
}

/**
 * Returns the possible ids of a mirrored group. The first is a digest of the name, as in all strategies of MeshCentral,
 * so LDAP or SAML may have taken it. The second is a keyed digest, so that no name has it as its first id.
 */
function mirroredIds(domainId: string, name: string): readonly string[] {
  const hashes = [createHash('sha384').update(name), createHmac('sha384', OURS).update(name)]
  return hashes.map((hash) => {
    const digest = hash.digest('base64').replaceAll('+', '@').replaceAll('/', '$')
    return `ugrp/${domainId}/${digest}`
  })
}
