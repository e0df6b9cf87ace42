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
 * A session that MeshCentral itself began for one of our users, by a login token or by a login cookie in the address.
 * It did not begin by a login of ours, so it does not end with one, unless a page of such a login had the login cookie.
 * It ends if group rules refuse the user.
 */
export interface ForeignSession {
  readonly user: string
  readonly owner: SessionOwner
}

/** The session's member that holds the mark, which is signed with the session. */
const KEY = 'oidcApart'

/**
 * Returns the request's foreign session, if MeshCentral began it behind the guard. MeshCentral's web relay has handlers
 * in front of the guard, or a server of its own. It signs in whoever brings the address of a relayed page, as the user
 * and session in that address. There, the mark does not match.
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
 * Marks a session that MeshCentral begins while it answers a request. The guard admits only sessions of our own for our
 * users, so MeshCentral itself began any other session of them behind the guard.
 *
 * @param domains ids of the domains that sign in through the plugin
 * @param now milliseconds since 1970
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
    // Nearly every answer leaves the session as it came.
    const isUnchanged = own !== undefined && session === sessionBefore && user === own.user && session?.x === own.x
    if (isUnchanged || !session || typeof user !== 'string' || !isOurs(user, domains)) return
    if (ownSession(req) || foreignSession(req)) return
    // MeshCentral names some sessions only at their next request.
    session.x ??= randomBytes(6).toString('base64')
    session[KEY] = { user, x: session.x, ...writeOwner(sessionOwner(brought.get(user), user, now())) }
  }

  // cookie-session writes its cookie in the same way, but replaced the function earlier. So the mark comes first.
  replaceFunction('res.writeHead', res, 'writeHead', (writeHead) => {
    const markFirst = (...head: Parameters<typeof writeHead>) => {
      mark()
      return writeHead(...head)
    }
    return markFirst as typeof writeHead
  })
}

/**
 * Returns the owner of a foreign session. Cookies that another program sealed with MeshCentral's key name no session;
 * they end like a login token.
 */
function sessionOwner(owner: CookieOwner | undefined, user: string, startedAt: number): SessionOwner {
  return owner?.kind === 'session' ? owner : { kind: 'session', keys: [keyOfDirectLogins(user)], startedAt }
}
