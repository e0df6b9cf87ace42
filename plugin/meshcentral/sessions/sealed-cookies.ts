import type { IssuerRule } from '../../host/port.ts'
import type { MeshCookie, MeshServer } from '../server.ts'
import { keyOfSealed, type Owner, readOwner, writeOwner } from './cookie-owner.ts'
import type { CurrentWork } from './current-work.ts'
import { admitsGuest, isGuestCookie } from './guest-cookies.ts'
import { keysOfOpen, type OpenSessions, type SeenSession } from './open-sessions.ts'
import type { RevokedSessions } from './revoked-sessions.ts'

export interface SealedOptions {
  readonly server: Pick<MeshServer, 'encodeCookie' | 'decodeCookie'>
  readonly ended: Pick<RevokedSessions, 'latest'>
  readonly open: OpenSessions
  readonly work: CurrentWork
  /** Ids of the domains whose logins are ours. */
  readonly domains: ReadonlySet<string>
  readonly now: () => number
  readonly acceptsIssuer: IssuerRule
}

const NONE: Owner = { kind: 'none' }

/**
 * MeshCentral's own `encodeCookie` and `decodeCookie`. What is sealed in the name of one of our users opens a web
 * socket for an hour, some of it for four, without any session: so it bears the session that it was sealed for, and no
 * longer opens once that has ended.
 */
export function sealedBySession(options: SealedOptions): Pick<MeshServer, 'encodeCookie' | 'decodeCookie'> {
  const { server, ended, open, work, domains, now, acceptsIssuer } = options
  const seal = server.encodeCookie.bind(server)
  const unseal = server.decodeCookie.bind(server)

  function ownerNow(user: string, { x, nodeid, tcpport }: MeshCookie): Owner {
    const here = work.get()
    if (here) return here.session?.user === user ? ownerOf(here.session) : (here.brought.get(user) ?? NONE)
    const named = typeof x === 'string' ? open.named(user, x) : undefined
    if (named) return ownerOf(named)
    // Of all that is sealed behind our back only web relays lead to a port of a device.
    const isTunnel = nodeid !== undefined && tcpport !== undefined
    const relayed = isTunnel ? open.relays.ownerOf(user, (owner) => hasEnded(owner, user)) : undefined
    return relayed ?? { kind: 'unknown', sealedAt: now() }
  }

  function hasEnded(owner: Owner, user: string): boolean {
    if (owner.kind === 'none') return false
    const isOne = owner.kind === 'session'
    if (isOne && owner.until !== undefined && owner.until <= now()) return true
    if (isOne && owner.from && !acceptsIssuer(owner.from)) return true
    const endedAt = ended.latest(isOne ? owner.keys : [keyOfSealed(user)])
    return endedAt !== undefined && (isOne ? owner.startedAt : owner.sealedAt) <= endedAt
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
      const here = work.get()
      const isGuests = isGuestCookie(cookie)
      // MeshCentral itself takes a guest at any other place for the user, password accounts included, with all of that
      // user's rights.
      if (isGuests && !admitsGuest(cookie, here, minutes, now())) return null
      const user = userOf(cookie)
      if (user === undefined || !isOurs(user, domains)) return cookie
      const owner = isGuests ? NONE : readOwner(cookie)
      if (hasEnded(owner, user)) return null
      if (!here && opensRelay(cookie)) open.relays.opened(user, owner, isGuests ? undefined : String(cookie.x))
      here?.brought.set(user, owner)
      if (here?.socket) open.seenSealed(owner, user, here.socket)
      return cookie
    },
  }
}

/** Whether MeshCentral's id of a user is that of somebody who signs in through us. */
export function isOurs(user: string, domains: ReadonlySet<string>): boolean {
  const [type, domainId = '', name = ''] = user.split('/')
  return type === 'user' && domains.has(domainId) && name.startsWith('~oidc:')
}

function ownerOf({ signIn }: SeenSession): Owner {
  const { domainKey, issuer, startedAt } = signIn
  return { kind: 'session', keys: keysOfOpen(signIn), startedAt, from: { domainKey, issuer } }
}

/** In whose name MeshCentral sealed it; invitations of guests bear other members. */
export function userOf(cookie: MeshCookie): string | undefined {
  const name = cookie.userid ?? cookie.ruserid ?? (cookie.a === 3 ? cookie.u : undefined)
  return typeof name === 'string' ? name : undefined
}

/** What a page has a web relay opened by, where it comes in behind our back. */
function opensRelay(cookie: MeshCookie): boolean {
  return isGuestCookie(cookie) || (typeof cookie.ruserid === 'string' && typeof cookie.x === 'string')
}
