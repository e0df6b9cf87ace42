import { randomBytes } from 'node:crypto'
import type { Response } from 'express'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { MeshRequest } from '../server.ts'
import { keyOfDirectLogins, type Owner, readOwner, writeOwner } from './cookie-owner.ts'
import type { Work } from './current-work.ts'
import { isOurs } from './sealed-cookies.ts'
import { ownSession } from './sessions.ts'

/**
 * A session that MeshCentral itself began for one of our users: by a login token, or by a login cookie in the address.
 * No login of ours is behind it, so it goes on when those end, unless a page of one of them had the login cookie. It
 * ends when group rules refuse the user.
 */
export interface ForeignSession {
  readonly user: string
  readonly owner: SessionOwner
}

export type SessionOwner = Extract<Owner, { readonly kind: 'session' }>

/** Where that stands in the session. It is signed with it. */
const KEY = 'oidcApart'

/**
 * That of a request, if MeshCentral began it behind the guard. Its web relay, which has handlers before the guard or a
 * server of its own, signs whoever brings the address of a relayed page in as the user and the session that it names:
 * what it puts there does not match.
 */
export function foreignSession({ session }: MeshRequest): ForeignSession | undefined {
  const mark = session?.[KEY]
  if (!session || !isJsonObject(mark)) return undefined
  const { userid, x } = session
  if (typeof userid !== 'string' || typeof x !== 'string' || mark.user !== userid || mark.x !== x) return undefined
  const owner = readOwner({ oidcSession: mark })
  // Versions before this one marked some that nothing could end.
  return owner.kind === 'session' ? { user: userid, owner } : undefined
}

/**
 * Has a session marked that MeshCentral begins while it answers. Whatever it begins behind the guard, which lets no
 * other session of our users through, is its own doing.
 *
 * @param domains ids of those whose logins are ours
 * @param now milliseconds since 1970
 */
export function markForeign(
  req: MeshRequest,
  res: Response,
  { brought, session: own }: Work,
  domains: ReadonlySet<string>,
  now: () => number,
): void {
  const { writeHead } = res
  const before = req.session
  // As cookie-session does it to write its cookie, and before that.
  res.writeHead = ((...head: Parameters<typeof writeHead>) => {
    const { session } = req
    const user = session?.userid
    // Nearly always what came is what goes.
    const isAsItCame = own !== undefined && session === before && user === own.user && session?.x === own.x
    if (isAsItCame || !session || typeof user !== 'string' || !isOurs(user, domains)) return writeHead.apply(res, head)
    if (!ownSession(req) && !foreignSession(req)) {
      // MeshCentral names some at their next request only, and then no matter whose they are.
      session.x ??= randomBytes(6).toString('base64')
      session[KEY] = { user, x: session.x, ...writeOwner(known(brought.get(user), user, now())) }
    }
    return writeHead.apply(res, head)
  }) as typeof writeHead
}

/**
 * What was sealed elsewhere, by a program that has MeshCentral's key, names no session: then it is the user's like a
 * login token.
 */
function known(owner: Owner | undefined, user: string, startedAt: number): SessionOwner {
  return owner?.kind === 'session' ? owner : { kind: 'session', keys: [keyOfDirectLogins(user)], startedAt }
}
