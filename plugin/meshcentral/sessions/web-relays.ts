import type { Owner } from './cookie-owner.ts'

type SessionOwner = Extract<Owner, { readonly kind: 'session' }>

/** A session by whose cookie a web relay was opened. This process need not have seen it otherwise. */
export interface RelayedSession {
  /** MeshCentral's id of the user. */
  readonly user: string
  /** MeshCentral's random name of the session. */
  readonly x: string
  readonly owner: SessionOwner
}

/**
 * Whose web relays are. MeshCentral has them on a port or a host name of their own, which nothing of ours stands in
 * front of: a page has a relay opened by a cookie, and what MeshCentral then seals for the tunnels says the user, but
 * not the session.
 */
export interface WebRelays {
  /** @param x the session that the cookie was for; undefined where it was for a guest, or nobody knows for whom */
  opened(user: string, owner: Owner, x: string | undefined): void
  /**
   * Whose a tunnel of that user is that is being sealed. Where it may be that of several sessions, it ends with the
   * first of them that does. Undefined: nobody knows.
   */
  ownerOf(user: string, hasEnded: (owner: Owner) => boolean): Owner | undefined
  /** The sessions whose owner is so. */
  sessionsThat(are: (owner: SessionOwner) => boolean): readonly RelayedSession[]
}

interface Relays {
  /** By name, the latest last. */
  readonly sessions: Map<string, SessionOwner>
  /** Somebody else opened one too: a guest, or whoever has a login token. */
  hasOthers: boolean
}

/** A session takes about a kilobyte. */
const MOST_USERS = 1_000
/** The keys of all go into the address that MeshCentral opens a tunnel by: 125 bytes each. */
const MOST_OF_ONE = 20

export function createWebRelays(mostUsers = MOST_USERS): WebRelays {
  /** The user who opened one last comes last. */
  const users = new Map<string, Relays>()

  return {
    opened(user, owner, x) {
      const relays = users.get(user) ?? { sessions: new Map<string, SessionOwner>(), hasOthers: false }
      users.delete(user)
      users.set(user, relays)
      if (users.size > mostUsers) dropFirst(users)
      if (owner.kind !== 'session' || x === undefined) {
        relays.hasOthers = true
        return
      }
      relays.sessions.delete(x)
      relays.sessions.set(x, owner)
      if (relays.sessions.size <= MOST_OF_ONE) return
      dropFirst(relays.sessions)
      relays.hasOthers = true
    },
    ownerOf(user, hasEnded) {
      const relays = users.get(user)
      if (!relays) return undefined
      const all = [...relays.sessions.values()]
      const open = all.filter((owner) => !hasEnded(owner))
      // A request that still waits in the relay of a session that has ended gets no tunnel any more.
      const those = open.length > 0 || relays.hasOthers ? open : all
      return those.length === 0 ? undefined : oneOf(those)
    },
    sessionsThat: (are) =>
      [...users].flatMap(([user, { sessions }]) =>
        [...sessions].flatMap(([x, owner]) => (are(owner) ? [{ user, x, owner }] : [])),
      ),
  }
}

/**
 * All of them are open: what has ended of their keys did so before the last of them began, and what ends from now on
 * does so later.
 */
function oneOf(those: readonly SessionOwner[]): SessionOwner {
  const limits = those.flatMap(({ until }) => until ?? [])
  return {
    kind: 'session',
    keys: [...new Set(those.flatMap(({ keys }) => keys))],
    startedAt: Math.max(...those.map(({ startedAt }) => startedAt)),
    ...(limits.length > 0 ? { until: Math.min(...limits) } : {}),
  }
}

function dropFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key)
    return
  }
}
