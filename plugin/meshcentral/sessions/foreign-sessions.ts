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
 * A session that MeshCentral itself began for a user of the plugin, by a login token or by a login cookie in the
 * address. It is independent of the user's logins through the plugin. There is one exception: if the login cookie came
 * from a page of such a login, both sessions end together. A foreign session also ends if group rules refuse the user.
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
 * Returns the request's foreign session, if MeshCentral began it in a request that had passed `sessionGuard`.
 * MeshCentral's web relay begins sessions without the guard: it signs in every visitor of a relayed page as the user in
 * the page's address. Such a session has no matching mark.
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
 * Marks a session as MeshCentral's own if MeshCentral begins it while it answers a request. `sessionGuard` already
 * removed all invalid sessions of the plugin's users from the request. So MeshCentral began every session in the answer
 * that is not the plugin's.
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
    if (ownSession(req) || foreignSession(req)) return
    // Set the session's random name `x` now, because the mark contains it. MeshCentral itself sets `x` of some sessions
    // only at the next request.
    session.x ??= randomBytes(6).toString('base64')
    session[KEY] = { user, x: session.x, ...writeOwner(sessionOwner(brought.get(user), user, now())) }
  }

  // cookie-session has already replaced `writeHead`, in order to write its cookie. A later replacement runs first, so
  // this one marks the session before cookie-session writes the cookie.
  replaceFunction('res.writeHead', res, 'writeHead', (writeHead) => {
    const markFirst = (...head: Parameters<typeof writeHead>) => {
      mark()
      return writeHead(...head)
    }
    return markFirst as typeof writeHead
  })
}

/**
 * Returns the owner of a foreign session. If a login cookie of a known session began it, both sessions have the same
 * owner and end together. If another program sealed the login cookie with MeshCentral's key, the cookie names no
 * session. The foreign session then ends together with those that login tokens began.
 */
function sessionOwner(owner: CookieOwner | undefined, user: string, startedAt: number): SessionOwner {
  return owner?.kind === 'session' ? owner : { kind: 'session', keys: [keyOfDirectLogins(user)], startedAt }
}
