import type { MeshServer, MeshUser, MeshUserGroup, MeshWeb } from './server.ts'

/** Events as MeshCentral itself writes them: open pages follow them, and its event log keeps them. */
export function tell(server: MeshServer, web: MeshWeb, targets: readonly string[], event: object | string): void {
  // AceBase ends the server that stores a member without a value.
  server.DispatchEvent([...targets], web, typeof event === 'string' ? event : withValues(event))
}

export function announceAccount(
  server: MeshServer,
  web: MeshWeb,
  user: MeshUser,
  action: 'accountcreate' | 'accountchange',
  msg: string,
  more: object = {},
): void {
  const targets = action === 'accountcreate' ? ['*', 'server-users'] : ['*', 'server-users', user._id]
  tell(server, web, targets, {
    etype: 'user',
    userid: user._id,
    username: user.name,
    account: web.CloneSafeUser(user),
    action,
    msg,
    domain: user.domain,
    ...more,
    ...unlessSeenAnyway(server),
  })
}

/** A group has one member more (message 71) or less (72). */
export function announceGroup(
  server: MeshServer,
  web: MeshWeb,
  user: MeshUser,
  group: MeshUserGroup,
  msgid: 71 | 72,
): void {
  const what = msgid === 71 ? 'Added user(s) ? to' : 'Removed user ? from'
  tell(server, web, ['*', group._id, user._id], {
    etype: 'ugrp',
    userid: user._id,
    username: user.name,
    ugrpid: group._id,
    name: group.name,
    desc: group.desc,
    action: 'usergroupchange',
    links: group.links,
    msgid,
    msgArgs: [user.name, group.name],
    msg: `${what.replace('?', () => user.name)} user group ${group.name}`,
    addUserDomain: user.domain,
    ...unlessSeenAnyway(server),
  })
}

/** A database that reports changes by itself would make every page act twice. */
function unlessSeenAnyway({ db }: MeshServer): { readonly noact?: 1 } {
  return db.changeStream ? { noact: 1 } : {}
}

function withValues(event: object): object {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined))
}
