import { createHash, createHmac } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { UserGroups } from '../../host/port.ts'
import { printableFields, printableText } from '../../log.ts'
import { saveRecord } from '../database.ts'
import { announceAccount, announceGroup, tell } from '../events.ts'
import { type MeshServer, type MeshUser, type MeshUserGroup, type MeshWeb, userKey } from '../server.ts'
import { sanitizeName } from './sanitize-name.ts'

/** What new groups are marked with. The built-in strategy marks those of a preset with the preset's name. */
const OURS = 'oidc'
const MEMBER = 1

/**
 * MeshCentral's own user groups, mirrored as its built-in strategy does it: groups that it made are recognised and
 * kept.
 *
 * @param presets their names
 */
export function meshUserGroups(server: MeshServer, web: MeshWeb, presets: readonly string[], clock: Clock): UserGroups {
  const marks = new Set([OURS, ...presets])
  const isMirrored = ({ membershipType }: MeshUserGroup) => membershipType !== undefined && marks.has(membershipType)
  const recordOf = (groupId: string): MeshUserGroup | undefined =>
    Object.hasOwn(web.userGroups, groupId) ? web.userGroups[groupId] : undefined
  const memberOf = (domainId: string, id: string): MeshUser => {
    const user = web.users[userKey(domainId, id)]
    if (!user) throw new Error('The account is gone.')
    return user
  }
  const mirrored = (user: MeshUser): readonly MeshUserGroup[] =>
    Object.keys(user.links ?? {}).flatMap((link) => {
      const group = recordOf(link)
      return group && isMirrored(group) && group.domain === user.domain ? [group] : []
    })
  const isTaken = (groupId: string): boolean => {
    const group = recordOf(groupId)
    return group !== undefined && !isMirrored(group)
  }
  /** Ours that were looked at. One of them is logged at most once a start. */
  const compared = new Set<string>()
  function compare(group: MeshUserGroup): void {
    if (compared.has(group._id)) return
    compared.add(group._id)
    const isTwin = (other: MeshUserGroup) =>
      [group.name, nameAtIdp(group)].includes(other.name) && other.domain === group.domain && isOfAnother(other)
    const twin = Object.values(web.userGroups).find(isTwin)
    if (twin) server.authLog('OIDC', nameTaken(group, twin))
  }
  const isOfAnother = ({ membershipType }: MeshUserGroup) => membershipType !== undefined && !marks.has(membershipType)

  const save = (user: MeshUser, group: MeshUserGroup) =>
    Promise.all([user, group].map((record) => saveRecord(server.db, clock, record)))

  return {
    mirroredOf: async (domainId, id) => {
      const groups = mirrored(memberOf(domainId, id))
      for (const group of groups) compare(group)
      return groups.map(nameAtIdp)
    },

    join: async (domainId, id, name) => {
      const user = memberOf(domainId, id)
      const groupId = mirroredIds(domainId, name).find((one) => !isTaken(one))
      if (groupId === undefined) throw new Error('Other groups have the ids of the mirrored one.')
      const group = recordOf(groupId) ?? createGroup(server, web, user, groupId, name)
      compare(group)
      addToGroup(server, web, user, group)
      announceMembership(server, web, user)
      await save(user, group)
    },

    leave: async (domainId, id, name) => {
      const user = memberOf(domainId, id)
      for (const group of mirrored(user)) {
        if (nameAtIdp(group) !== name) continue
        delete user.links?.[group._id]
        announceMembership(server, web, user)
        const isLinked = group.links && Object.hasOwn(group.links, user._id)
        delete group.links?.[user._id]
        if (isLinked) announceGroup(server, web, user, group, 72)
        await save(user, group)
      }
    },
  }
}

/** One line of the authentication log, which is a plain file. */
function nameTaken(group: MeshUserGroup, twin: MeshUserGroup): string {
  const [ours, other] = [group._id, twin._id].map((id) => JSON.stringify(printableText(id)))
  const fields = { name: group.name, group: group._id, other: twin._id, otherType: twin.membershipType }
  return `WARN group-name-taken: Two user groups have one name: ours is ${ours}, and ${other} is one that another strategy mirrors. Rights on devices stay with that one: move them to ours, then delete it. ${JSON.stringify(printableFields(fields))}`
}

/** Both records link to one another; the caller saves them. */
export function addToGroup(server: MeshServer, web: MeshWeb, user: MeshUser, group: MeshUserGroup): void {
  user.links ??= {}
  user.links[group._id] = { rights: MEMBER }
  group.links ??= {}
  group.links[user._id] = { userid: user._id, name: user.name, rights: MEMBER }
  announceGroup(server, web, user, group, 71)
}

/**
 * What the IdP calls a group: its pages call it otherwise where they would take parts of that name for something else.
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
  // Acted upon in any case: a database that reports its changes says nothing of new groups.
  tell(server, web, ['*', _id, user._id], {
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
  tell(server, web, [user._id], 'resubscribe')
  const msg = `User group membership changed: ${user.name}`
  announceAccount(server, web, user, 'accountchange', msg, { msgid: 67, msgArgs: [user.name] })
}

/**
 * Ids of the mirrored group of that name: the one that the built-in strategy gives it, and one for where it is taken.
 * All strategies of MeshCentral make ids in that way, so a group that LDAP or SAML mirrors under the same name has it.
 * The other one is no hash of any name: whoever names groups at the IdP cannot make one that has it.
 */
function mirroredIds(domainId: string, name: string): readonly string[] {
  const hashes = [createHash('sha384').update(name), createHmac('sha384', OURS).update(name)]
  return hashes.map((hash) => {
    const digest = hash.digest('base64').replaceAll('+', '@').replaceAll('/', '$')
    return `ugrp/${domainId}/${digest}`
  })
}
