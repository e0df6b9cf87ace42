import type { IssuerRule } from '../../host/port.ts'
import type { MeshCookie, MeshServer } from '../server.ts'
import { type CookieOwner, keyOfSealed, readOwner, writeOwner } from './cookie-owner.ts'
import type { CurrentWork } from './current-work.ts'
import { admitsGuest, isGuestCookie } from './guest-cookies.ts'
import { keysOfOpen, type OpenSessions, type SeenSession } from './open-sessions.ts'
import type { RevokedSessions } from './revoked-sessions.ts'

export interface SealedCookiesOptions {
  /** MeshCentral's own functions for sealed cookies. */
  readonly server: Pick<MeshServer, 'encodeCookie' | 'decodeCookie'>
  readonly revocations: Pick<RevokedSessions, 'latest'>
  readonly open: OpenSessions
  readonly work: CurrentWork
  /** Ids of the domains with the plugin's single sign-on. */
  readonly domains: ReadonlySet<string>
  readonly now: () => number
  readonly acceptsIssuer: IssuerRule
}

const NO_OWNER: CookieOwner = { kind: 'none' }

/**
 * Returns replacements for MeshCentral's `encodeCookie` and `decodeCookie`. A cookie that MeshCentral seals (encrypts)
 * opens web sockets for up to four hours without a session. The replacements let it end with its session.
 */
export function sealedBySession(options: SealedCookiesOptions): Pick<MeshServer, 'encodeCookie' | 'decodeCookie'> {
  const { server, revocations, open, work, domains, now, acceptsIssuer } = options
  const seal = server.encodeCookie.bind(server)
  const unseal = server.decodeCookie.bind(server)

  function ownerNow(user: string, { x, nodeid, tcpport }: MeshCookie): CookieOwner {
    const current = work.get()
    if (current)
      return current.session?.user === user ? ownerOf(current.session) : (current.brought.get(user) ?? NO_OWNER)
    const named = typeof x === 'string' ? open.named(user, x) : undefined
    if (named) return ownerOf(named)
    // A request that `sessionGuard` did not handle has no current work. If such a request seals a cookie for a device's
    // port, it comes from a web relay.
    const isTunnel = nodeid !== undefined && tcpport !== undefined
    const relayed = isTunnel ? open.relays.ownerOf(user, (owner) => hasEnded(owner, user)) : undefined
    return relayed ?? { kind: 'unknown', sealedAt: now() }
  }

  function hasEnded(owner: CookieOwner, user: string): boolean {
    if (owner.kind === 'none') return false
    const isSession = owner.kind === 'session'
    if (isSession && owner.until !== undefined && owner.until <= now()) return true
    if (isSession && owner.from && !acceptsIssuer(owner.from)) return true
    const endedAt = revocations.latest(isSession ? owner.keys : [keyOfSealed(user)])
    return endedAt !== undefined && (isSession ? owner.startedAt : owner.sealedAt) <= endedAt
  }

  return {
    encodeCookie(content, key) {
      const user = userOf(content)
      if (user === undefined || !isOurs(user, domains) || isGuestCookie(content)) return seal(content, key)
      return seal({ ...content, oidcSession: writeOwner(ownerNow(user, content)) }, key)
    },
    decodeCookie(sealed, key, minutes) {
      const cookie = unseal(sealed, key, minutes)
      if (cookie === null) return null
      const current = work.get()
      const isGuest = isGuestCookie(cookie)
      // MeshCentral would give a guest all rights of the user who shares. So check the cookies of all guests, even if
      // the user who shares has a password account.
      if (isGuest && !admitsGuest(cookie, current, minutes, now())) return null
      const user = userOf(cookie)
      if (user === undefined || !isOurs(user, domains)) return cookie
      const owner = isGuest ? NO_OWNER : readOwner(cookie)
      if (hasEnded(owner, user)) return null
      if (!current && opensRelay(cookie)) open.relays.opened(user, owner, isGuest ? undefined : String(cookie.x))
      current?.brought.set(user, owner)
      if (current?.socket) open.noteSealed(owner, user, current.socket)
      return cookie
    },
  }
}

/**
 * Whether a user signs in through the plugin.
 *
 * @param user MeshCentral's id of the user
 */
export function isOurs(user: string, domains: ReadonlySet<string>): boolean {
  const [type, domainId = '', name = ''] = user.split('/')
  return type === 'user' && domains.has(domainId) && name.startsWith('~oidc:')
}

function ownerOf({ signIn }: SeenSession): CookieOwner {
  const { domainKey, issuer, startedAt } = signIn
  return { kind: 'session', keys: keysOfOpen(signIn), startedAt, from: { domainKey, issuer } }
}

/** Returns MeshCentral's id of the user that a sealed cookie names. Guest invitations name no user. */
export function userOf(cookie: MeshCookie): string | undefined {
  const name = cookie.userid ?? cookie.ruserid ?? (cookie.a === 3 ? cookie.u : undefined)
  return typeof name === 'string' ? name : undefined
}

/**
 * Whether this cookie opens a web relay. The result is valid only if `sessionGuard` did not handle the request with the
 * cookie.
 */
function opensRelay(cookie: MeshCookie): boolean {
  return isGuestCookie(cookie) || (typeof cookie.ruserid === 'string' && typeof cookie.x === 'string')
}
