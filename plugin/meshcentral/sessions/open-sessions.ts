import type { Clock } from '../../clock.ts'
import type { CookieSignIn } from '../../host/cookie-session.ts'
import { keyOfHandle, keysOfSignIn } from '../../host/revocations.ts'
import { dueSessions, firstUse, type SessionUse } from '../../host/session-use.ts'
import { sendToLogin } from '../pages/open-page.ts'
import type { MeshSocket } from '../server.ts'
import { type CookieOwner, keyOfSealed } from './cookie-owner.ts'
import { KeyIndex } from './key-index.ts'
import type { RevocationTimes } from './revoked-sessions.ts'
import { type RelayedSession, WebRelays } from './web-relays.ts'

/** A session that arrived with a request to this process. */
export interface SeenSession {
  readonly signIn: CookieSignIn
  /** MeshCentral's id of the user. */
  readonly user: string
  /** MeshCentral's random name of the session. */
  readonly x: string
}

/**
 * Selects sessions by their revocation keys. If a key has a time, it selects only sessions that began before that time.
 */
export type SessionSelector = readonly string[] | RevocationTimes

/** A session or a sealed cookie, with the revocation keys that end it. */
interface Keyed {
  /**
   * The revocation keys of all IdP sessions that the session has belonged to. A login in another tab can add keys,
   * because it can change the `sid`.
   */
  keys: readonly string[]
  readonly startedAt: number
}

/** The sockets that belong to a session or to a sealed cookie. */
interface SocketOwner extends Keyed {
  readonly sockets: Set<MeshSocket>
}

interface TrackedSession extends SocketOwner, SessionUse {
  readonly session: SeenSession
}

/** Limit of tracked sessions without sockets. Each takes about a kilobyte of memory. */
const MOST_IDLE = 5_000
/** Limit of a timer's delay, in milliseconds. Longer delays overflow Node's timers. */
const LONGEST_WAIT_MS = 20 * 24 * 60 * 60_000

/**
 * Tracks open sessions and their web sockets, in order to close the sockets when a session ends. MeshCentral checks a
 * socket only when it opens.
 *
 * A session is tracked from its first request until it ends. Beyond a limit, the session that was idle longest and has
 * no sockets is dropped. A socket that came with a sealed cookie or a login token is tracked under the cookie's owner.
 */
export class OpenSessions {
  /** The sessions that opened web relays. */
  readonly relays = new WebRelays()
  readonly #clock: Clock
  readonly #mostIdle: number
  /** Sessions by handle, in order of use. */
  readonly #sessions = new Map<string, TrackedSession>()
  readonly #sessionKeys = new KeyIndex<TrackedSession>()
  /** Tracked sessions by `<user id>/<x>`. MeshCentral's `destroyedSessions` uses the same keys. */
  readonly #byName = new Map<string, TrackedSession>()
  /** The number of each user's sessions. */
  readonly #counts = new Map<string, number>()
  /**
   * Maps each owner of sealed cookies to the sockets that these cookies opened. The key of the map consists of the
   * owner's user, start and revocation keys.
   */
  readonly #sealed = new Map<string, SocketOwner>()
  readonly #sealedKeys = new KeyIndex<SocketOwner>()

  constructor(clock: Clock, mostIdle = MOST_IDLE) {
    this.#clock = clock
    this.#mostIdle = mostIdle
  }

  /**
   * Records a request of a session.
   *
   * @param socket the web socket that it opened
   * @param keys the session's revocation keys, if known
   */
  note(session: SeenSession, socket?: MeshSocket, keys?: readonly string[]): void {
    const { handle } = session.signIn
    const tracked = this.#sessions.get(handle)
    const current = tracked ?? this.#newSession(session, keys)
    current.seenAt = this.#clock.elapsed()
    if (tracked && tracked.session.signIn.sid !== session.signIn.sid) {
      current.keys = [...new Set([...tracked.keys, ...(keys ?? keysOfOpen(session.signIn))])]
      this.#sessionKeys.add(current)
    }
    // Move the session to the end, to keep the map in order of use.
    if (tracked) {
      this.#sessions.delete(handle)
      this.#sessions.set(handle, current)
    } else this.#add(current)
    if (socket) {
      current.sockets.add(socket)
      socket.on('close', () => current.sockets.delete(socket))
    }
    // Drop idle sessions only for a new session. With thousands of sockets, the search for an idle session takes long.
    if (!tracked) this.#dropIdle()
  }

  /**
   * Tracks a socket that was opened with a user's sealed cookie or login token. If the owner has a time limit
   * (`until`), closes the socket at that time.
   */
  noteSealed(owner: CookieOwner, user: string, socket: MeshSocket): void {
    if (owner.kind === 'none') return
    const isSession = owner.kind === 'session'
    const keys = isSession ? owner.keys : [keyOfSealed(user)]
    const startedAt = isSession ? owner.startedAt : owner.sealedAt
    const name = JSON.stringify([user, startedAt, ...keys])
    const current = this.#sealed.get(name) ?? { keys, startedAt, sockets: new Set() }
    if (current.sockets.has(socket)) return
    current.sockets.add(socket)
    this.#sealed.set(name, current)
    this.#sealedKeys.add(current)
    if (isSession && owner.until !== undefined) this.#closeAt(owner.until, socket)
    socket.on('close', () => {
      current.sockets.delete(socket)
      if (current.sockets.size > 0 || this.#sealed.get(name) !== current) return
      this.#sealed.delete(name)
      this.#sealedKeys.remove(current)
    })
  }

  find(selector: SessionSelector): readonly SeenSession[] {
    return [...selected(this.#sessionKeys, selector)].map(({ session }) => session)
  }

  /** Finds sessions that opened web relays. This process may have received no other request of these sessions. */
  findRelayed(selector: SessionSelector): readonly RelayedSession[] {
    return this.relays.sessionsWhere(isSelectedBy(selector))
  }

  /**
   * Yields a domain's sessions in use, for `Sessions.inUse` of the host port. A session with an open socket is in use.
   */
  *inUse(domainKey: string, forMs: number): Iterable<SeenSession> {
    const ofDomain = [...this.#sessions.values()].filter(({ session }) => session.signIn.domainKey === domainKey)
    const sealedKeys = new Set([...this.#sealed.values()].flatMap(({ keys }) => keys))
    // Compare only a session's first key, because others may share the rest. A tunnel cookie with keys of several
    // sessions counts for all.
    const isUsed = ({ sockets, keys }: TrackedSession) => sockets.size > 0 || sealedKeys.has(keys[0] ?? '')
    for (const { session } of dueSessions(forMs, ofDomain, this.#clock, isUsed)) yield session
  }

  /**
   * Returns a session's revocation keys. Revoking any one of them ends the session. If the session is not tracked yet,
   * computes the keys.
   */
  keysOf({ signIn }: SeenSession): readonly string[] {
    return this.#sessions.get(signIn.handle)?.keys ?? keysOfOpen(signIn)
  }

  /** Finds a user's session by `x`, the random name that MeshCentral gives each session. */
  named(user: string, x: string): SeenSession | undefined {
    return this.#byName.get(nameOf(user, x))?.session
  }

  /** Whether a session of the user is tracked. */
  hasSession(user: string): boolean {
    return this.#counts.has(user)
  }

  /**
   * Drops the selected sessions and closes their sockets. A key from `keyOfSealed` selects the user's sockets that
   * cannot be attributed to a session.
   */
  end(selector: SessionSelector): void {
    const ended = selected(this.#sessionKeys, selector)
    for (const session of ended) this.#drop(session)
    const sealed = selected(this.#sealedKeys, selector)
    // A page's socket is found twice, by its session and by a sealed cookie. The set removes such duplicates.
    closeAll(new Set([...ended, ...sealed].flatMap(({ sockets }) => [...sockets])))
  }

  #newSession(session: SeenSession, keys: readonly string[] | undefined): TrackedSession {
    return {
      session,
      keys: keys ?? keysOfOpen(session.signIn),
      startedAt: session.signIn.startedAt,
      sockets: new Set<MeshSocket>(),
      ...firstUse(this.#clock, session.signIn.startedAt),
    }
  }

  #add(tracked: TrackedSession): void {
    const { user, x, signIn } = tracked.session
    this.#sessions.set(signIn.handle, tracked)
    this.#sessionKeys.add(tracked)
    this.#byName.set(nameOf(user, x), tracked)
    this.#counts.set(user, (this.#counts.get(user) ?? 0) + 1)
  }

  #drop(tracked: TrackedSession): void {
    const { user, x, signIn } = tracked.session
    this.#sessions.delete(signIn.handle)
    this.#sessionKeys.remove(tracked)
    if (this.#byName.get(nameOf(user, x)) === tracked) this.#byName.delete(nameOf(user, x))
    const count = (this.#counts.get(user) ?? 1) - 1
    if (count > 0) this.#counts.set(user, count)
    else this.#counts.delete(user)
  }

  #dropIdle(): void {
    if (this.#sessions.size <= this.#mostIdle) return
    for (const session of this.#sessions.values()) {
      if (session.sockets.size > 0) continue
      this.#drop(session)
      if (this.#sessions.size <= this.#mostIdle) return
    }
  }

  /**
   * Closes the socket of a login token when the token expires, because MeshCentral checks a socket only when it opens.
   */
  #closeAt(until: number, socket: MeshSocket): void {
    const waitMs = Math.max(0, until - this.#clock.now())
    const timer = this.#clock.after(Math.min(waitMs, LONGEST_WAIT_MS), () => socket.close())
    socket.on('close', () => timer.cancel())
  }
}

/**
 * Returns the revocation keys of an open session: its own key, and a key for each value by which an IdP may select it
 * in a logout.
 */
export function keysOfOpen(signIn: CookieSignIn): readonly string[] {
  return [keyOfHandle(signIn.handle), ...keysOfSignIn(signIn)]
}

function nameOf(user: string, x: string): string {
  return `${user}/${x}`
}

function selected<Entry extends Keyed>(index: KeyIndex<Entry>, selector: SessionSelector): ReadonlySet<Entry> {
  const entries = new Set<Entry>()
  for (const [key, endedAt] of timesOf(selector)) {
    for (const entry of index.withKey(key)) if (entry.startedAt <= endedAt) entries.add(entry)
  }
  return entries
}

/**
 * Returns the revocation time of each key in a selector. A key without a time gets infinity, so it selects every
 * session that has the key.
 */
function timesOf(selector: SessionSelector): RevocationTimes {
  return 'get' in selector ? selector : new Map(selector.map((key) => [key, Number.POSITIVE_INFINITY]))
}

function isSelectedBy(selector: SessionSelector): (entry: Keyed) => boolean {
  const times = timesOf(selector)
  return ({ keys, startedAt }) => keys.some((key) => startedAt <= (times.get(key) ?? Number.NEGATIVE_INFINITY))
}

function closeAll(sockets: ReadonlySet<MeshSocket>): void {
  for (const socket of [...sockets]) {
    sendToLogin(socket)
    socket.close()
  }
}
