import { randomBytes } from 'node:crypto'
import type { Response } from 'express'
import { isJsonObject } from '../../config/json/json-object.ts'
import { replaceFunction } from '../replaced-functions.ts'
import type { MeshRequest } from '../server.ts'
import { type CookieOwner, keyOfDirectLogins, readOwner, type SessionOwner, writeOwner } from './cookie-owner.ts'
import type { Work } from './current-work.ts'
import { isOurs } from './sealed-cookies.ts'
import { ownSession } from './sessions.ts'

/**
 * A session that MeshCentral itself began for a user of the plugin, by a login token or a login cookie in the address.
 * It ends with a session of the plugin only if its cookie came from there. It also ends if group rules refuse the user.
 */
export interface ForeignSession {
  readonly user: string
  readonly owner: SessionOwner
}

/**
 * The member that marks a session as foreign: begun by MeshCentral itself, not by a login of the plugin. The signature
 * of the session cookie covers it.
 */
const KEY = 'oidcApart'

/**
 * Returns the request's foreign session, if it has a matching mark. MeshCentral's web relay begins sessions without
 * one, for every visitor of a relayed page as the user in its address.
 */
export function foreignSession({ session }: MeshRequest): ForeignSession | undefined {
  const mark = session?.[KEY]
  if (!session || !isJsonObject(mark)) return undefined
  const { userid, x } = session
  if (typeof userid !== 'string' || typeof x !== 'string' || mark.user !== userid || mark.x !== x) return undefined
  const owner = readOwner({ oidcSession: mark })
  return owner.kind === 'session' ? { user: userid, owner } : undefined
}

/**
 * Marks a session that MeshCentral itself begins while it answers a request.
 *
 * @param domains ids of the domains whose users sign in through the plugin
 * @param now returns the current time in milliseconds since 1970
 */
export function markForeign(
  req: MeshRequest,
  res: Response,
  { brought, session: own }: Work,
  domains: ReadonlySet<string>,
  now: () => number,
): void {
  const sessionBefore = req.session

  function mark(): void {
    const { session } = req
    const user = session?.userid
    // Return early, because nearly every answer leaves the session unchanged.
    const isUnchanged = own !== undefined && session === sessionBefore && user === own.user && session?.x === own.x
    if (isUnchanged || !session || typeof user !== 'string' || !isOurs(user, domains)) return
    // `sessionGuard` removed invalid sessions from the request, so MeshCentral began any other session.
    if (ownSession(req) || foreignSession(req)) return
    // Set the session's random name `x` now, because the mark contains it. MeshCentral itself sets `x` of some sessions
    // only at the next request.
    session.x ??= randomBytes(6).toString('base64')
    session[KEY] = { user, x: session.x, ...writeOwner(sessionOwner(brought.get(user), user, now())) }
  }

  // This runs before cookie-session's replacement of `writeHead`, which writes the session's cookie.
  replaceFunction('res.writeHead', res, 'writeHead', (writeHead) => {
    const markFirst = (...head: Parameters<typeof writeHead>) => {
      mark()
      return writeHead(...head)
    }
    return markFirst as typeof writeHead
  })
}

/**
 * Returns a foreign session's owner: that of its login cookie. If another program sealed the cookie, it names no
 * session; the foreign session then ends with those that login tokens began.
 */
function sessionOwner(owner: CookieOwner | undefined, user: string, startedAt: number): SessionOwner {
  return owner?.kind === 'session' ? owner : { kind: 'session', keys: [keyOfDirectLogins(user)], startedAt }
}
