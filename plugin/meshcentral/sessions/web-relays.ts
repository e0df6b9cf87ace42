import type { CookieOwner, SessionOwner } from './cookie-owner.ts'

/**
 * A session that opened a web relay with its cookie. This process may have received no other request of the session.
 */
export interface RelayedSession {
  /** MeshCentral's id of the user. */
  readonly user: string
  /** MeshCentral's random name of the session. */
  readonly x: string
  readonly owner: SessionOwner
}

/** The web relays of one user. */
interface UserRelays {
  /** The owners of sessions by MeshCentral's random name (`x`), in the order in which they last opened a relay. */
  readonly sessions: Map<string, SessionOwner>
  /**
   * Whether a relay was also opened by a guest, a login token, or a session that is unknown or was dropped from
   * `sessions`.
   */
  hasOthers: boolean
}

/** Limit of remembered users. Each session of a user takes about a kilobyte of memory. */
const MOST_USERS = 1_000
/**
 * Limit of sessions per user. The address of a tunnel contains a cookie with the keys of all these sessions. The keys
 * of a session take 125 bytes.
 */
const MOST_SESSIONS = 20

/**
 * Finds the session of a web relay's tunnel cookies, which name only the user. A web relay shows a device's web pages,
 * on a port or host name that the guard does not cover. This class remembers which sessions opened relays.
 */
export class WebRelays {
  readonly #mostUsers: number
  /** Relays by user, in the order in which the users last opened a relay. */
  readonly #users = new Map<string, UserRelays>()

  constructor(mostUsers = MOST_USERS) {
    this.#mostUsers = mostUsers
  }

  /**
   * Records that a user opened a relay.
   *
   * @param x MeshCentral's name of the session; undefined if a guest opened the relay, or if the session is unknown
   */
  opened(user: string, owner: CookieOwner, x: string | undefined): void {
    const relays = this.#users.get(user) ?? { sessions: new Map<string, SessionOwner>(), hasOthers: false }
    this.#users.delete(user)
    this.#users.set(user, relays)
    if (this.#users.size > this.#mostUsers) dropFirst(this.#users)
    if (owner.kind !== 'session' || x === undefined) {
      relays.hasOthers = true
      return
    }
    relays.sessions.delete(x)
    relays.sessions.set(x, owner)
    if (relays.sessions.size <= MOST_SESSIONS) return
    dropFirst(relays.sessions)
    relays.hasOthers = true
  }

  /**
   * Returns the owner of a new tunnel cookie, if known. If several sessions may own it, the cookie ends with the first
   * of them.
   */
  ownerOf(user: string, hasEnded: (owner: CookieOwner) => boolean): CookieOwner | undefined {
    const relays = this.#users.get(user)
    if (!relays) return undefined
    const all = [...relays.sessions.values()]
    const open = all.filter((owner) => !hasEnded(owner))
    // If all sessions ended, return their owner. A request that still waits in the relay then opens no tunnel.
    const candidates = open.length > 0 || relays.hasOthers ? open : all
    return candidates.length === 0 ? undefined : commonOwner(candidates)
  }

  /** Returns the sessions that opened web relays and have an owner that `matches` accepts. */
  sessionsWhere(matches: (owner: SessionOwner) => boolean): readonly RelayedSession[] {
    return [...this.#users].flatMap(([user, { sessions }]) =>
      [...sessions].flatMap(([x, owner]) => (matches(owner) ? [{ user, x, owner }] : [])),
    )
  }
}

/**
 * Combines owners into one that ends with the first. Its start is that of the youngest, because no earlier revocation
 * applies to open sessions. Its issuer is that of the oldest, because a replaced issuer began older sessions.
 */
function commonOwner(owners: readonly SessionOwner[]): SessionOwner {
  const limits = owners.flatMap(({ until }) => until ?? [])
  const [oldest] = owners.filter(({ from }) => from).toSorted((a, b) => a.startedAt - b.startedAt)
  return {
    kind: 'session',
    keys: [...new Set(owners.flatMap(({ keys }) => keys))],
    startedAt: Math.max(...owners.map(({ startedAt }) => startedAt)),
    ...(limits.length > 0 ? { until: Math.min(...limits) } : {}),
    ...(oldest?.from ? { from: oldest.from } : {}),
  }
}

function dropFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key)
    return
  }
}
