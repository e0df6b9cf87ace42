import { sendToLogin } from '../pages/open-page.ts'
import type { MeshCookie, MeshServer } from '../server.ts'
import type { CurrentWork, Work } from './current-work.ts'
import type { Ended } from './ended.ts'
import { keysOfOpen, type OpenSessions, type SeenSession } from './open-sessions.ts'
import { keyOfSealed, type Owner, readOwner, writeOwner } from './owner.ts'

export interface SealedOptions {
  readonly server: Pick<MeshServer, 'encodeCookie' | 'decodeCookie'>
  readonly ended: Pick<Ended, 'latest'>
  readonly open: OpenSessions
  readonly work: CurrentWork
  /** Ids of the domains whose logins are ours. */
  readonly domains: ReadonlySet<string>
  readonly now: () => number
}

const NONE: Owner = { kind: 'none' }
/** Where guests come in, and MeshCentral asks its database whether what they were given is still shared. */
const FOR_GUESTS = /\/(?:meshrelay|devicefile)\.ashx(?:\/\.websocket)?\/?$/i

/**
 * MeshCentral's own `encodeCookie` and `decodeCookie`. What is sealed in the name of one of our users opens a web socket for an hour,
 * some of it for four, without any session: so it bears the session that it was sealed for, and no longer opens once that has ended.
 */
export function sealedBySession(options: SealedOptions): Pick<MeshServer, 'encodeCookie' | 'decodeCookie'> {
  const { server, ended, open, work, domains, now } = options
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
    const endedAt = ended.latest(isOne ? owner.keys : [keyOfSealed(user)])
    return endedAt !== undefined && (isOne ? owner.startedAt : owner.sealedAt) <= endedAt
  }

  return {
    encodeCookie(content, key) {
      const user = userOf(content)
      if (user === undefined || !isOurs(user, domains) || isOfGuest(content)) return seal(content, key)
      return seal({ ...content, oidcSession: writeOwner(ownerNow(user, content)) }, key)
    },
    decodeCookie(sealed, key, minutes) {
      const cookie = unseal(sealed, key, minutes)
      const user = cookie === null ? undefined : userOf(cookie)
      if (cookie === null || user === undefined || !isOurs(user, domains)) return cookie
      const here = work.get()
      const isGuests = isOfGuest(cookie)
      // MeshCentral itself would take a guest who comes to another place for the user, with all the rights of that one.
      if (isGuests && !isForGuests(here)) return null
      const owner = isGuests ? NONE : readOwner(cookie)
      if (hasEnded(owner, user)) {
        // Of tabs that sign in at the same time one may have ended the session that the page of another was made for, and MeshCentral would
        // leave that at "Unable to perform authentication".
        if (here?.socket && here.session?.user !== user) sendToLogin(here.socket)
        return null
      }
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
  return { kind: 'session', keys: keysOfOpen(signIn), startedAt: signIn.startedAt }
}

/** In whose name MeshCentral sealed it; invitations of guests bear other members. */
export function userOf(cookie: MeshCookie): string | undefined {
  const name = cookie.userid ?? cookie.ruserid ?? (cookie.a === 3 ? cookie.u : undefined)
  return typeof name === 'string' ? name : undefined
}

/** What a guest's page got in the name of the user who shares a device with it. It is good as long as that is shared. */
function isOfGuest({ nid, pid }: MeshCookie): boolean {
  return typeof nid === 'string' && typeof pid === 'string'
}

/** What a page has a web relay opened by, where it comes in behind our back. */
function opensRelay(cookie: MeshCookie): boolean {
  return isOfGuest(cookie) || (typeof cookie.ruserid === 'string' && typeof cookie.x === 'string')
}

/** MeshCentral's web relay, where guests come too, has a server of its own. */
function isForGuests(here: Work | undefined): boolean {
  return !here || FOR_GUESTS.test(here.path)
}
