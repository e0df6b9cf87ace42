import { printableText } from '../log.ts'
import type { MeshRequest, MeshServer, MeshUser, MeshUserGroup, MeshWeb } from './server.ts'

/** Sends an event as MeshCentral itself does. Open pages receive it, and MeshCentral's event log stores it. */
export function dispatch(server: MeshServer, web: MeshWeb, targets: readonly string[], event: object | string): void {
  // Remove members with the value undefined. With the database AceBase, the server exits when it stores such a member.
  server.DispatchEvent([...targets], web, typeof event === 'string' ? event : withValues(event))
}

export function announceLogin(server: MeshServer, web: MeshWeb, req: MeshRequest, user: MeshUser): void {
  const { browserStr, osStr } = web.getUserAgentInfo(req)
  const realms = (user.groups ?? []).map((realm) => `server-users:${realm}`)
  dispatch(server, web, ['*', 'server-users', user._id, ...realms], {
    etype: 'user',
    userid: user._id,
    username: user.name,
    account: web.CloneSafeUser(user),
    action: 'login',
    msgid: 107,
    msgArgs: [req.clientIp, browserStr ?? '', osStr ?? ''],
    msg: 'Account login',
    domain: user.domain,
    ip: req.clientIp,
    userAgent: req.headers['user-agent'],
    twoFactorType: 'sso',
  })
}

export function announceLogout(server: MeshServer, web: MeshWeb, req: MeshRequest, user: MeshUser): void {
  server.authLog('https', `User ${printableText(user.name)} logout from ${req.clientIp}`)
  dispatch(server, web, ['*'], {
    etype: 'user',
    userid: user._id,
    username: user.name,
    action: 'logout',
    msgid: 2,
    msg: 'Account logout',
    domain: user.domain,
    ip: req.clientIp,
  })
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
  dispatch(server, web, targets, {
    etype: 'user',
    userid: user._id,
    username: user.name,
    account: web.CloneSafeUser(user),
    action,
    msg,
    domain: user.domain,
    ...more,
    ...noActionIfReported(server),
  })
}

/** Announces that a user group gained a member (message 71) or lost one (message 72). */
export function announceGroup(
  server: MeshServer,
  web: MeshWeb,
  user: MeshUser,
  group: MeshUserGroup,
  msgid: 71 | 72,
): void {
  const verb = msgid === 71 ? 'Added user(s) ? to' : 'Removed user ? from'
  dispatch(server, web, ['*', group._id, user._id], {
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
    msg: `${verb.replace('?', () => user.name)} user group ${group.name}`,
    addUserDomain: user.domain,
    ...noActionIfReported(server),
  })
}

/**
 * Returns `noact` if the database itself reports changes to open pages. Otherwise pages would handle each change twice.
 */
function noActionIfReported({ db }: MeshServer): { readonly noact?: 1 } {
  return db.changeStream ? { noact: 1 } : {}
}

function withValues(event: object): object {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined))
}
