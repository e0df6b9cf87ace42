import type { Clock } from '../../clock.ts'
import type { CookieSignIn } from '../../host/cookie-session.ts'
import { keyOfHandle, keysOfSignIn } from '../../host/revocations.ts'
import { dueSessions, firstUse, type SessionUse } from '../../host/session-use.ts'
import { sendToLogin } from '../pages/open-page.ts'
import type { MeshSocket } from '../server.ts'
import { keyOfSealed, type Owner } from './cookie-owner.ts'
import { KeyIndex } from './key-index.ts'
import { createWebRelays, type RelayedSession, type WebRelays } from './web-relays.ts'

/** A session as this process has seen it in requests. */
export interface SeenSession {
  readonly signIn: CookieSignIn
  /** MeshCentral's id of the user. */
  readonly user: string
  /** MeshCentral's random name of the session. */
  readonly x: string
}

/**
 * Which sessions are open, and their web sockets: a socket is checked when it is opened and never again, so whoever
 * ends a session has to close its sockets. Bounded: of sessions without sockets the one that was idle longest is
 * forgotten first.
 */
export interface OpenSessions {
  /** @param keys what ends it, where that is at hand */
  seen(session: SeenSession, socket?: MeshSocket, keys?: readonly string[]): void
  /**
   * A socket that came with a cookie or login token of that owner, in the name of that user. It is closed at the
   * owner's `until`.
   */
  seenSealed(owner: Owner, user: string, socket: MeshSocket): void
  readonly relays: WebRelays
  /** Sessions that have one of the keys, or end by these endings. */
  find(what: readonly string[] | RevocationTimes): readonly SeenSession[]
  /** The same of sessions by whose cookies web relays were opened, whether they were seen here or not. */
  findRelayed(what: readonly string[] | RevocationTimes): readonly RelayedSession[]
  /**
   * Those of a domain that have a socket, or were seen since they were last handed out, if that was so long ago: as
   * `inUse` of the port.
   */
  inUse(domainKey: string, forMs: number): Iterable<SeenSession>
  /** What ends a session, which takes some time to make of one that was not seen yet. */
  keysOf(session: SeenSession): readonly string[]
  /** The session that MeshCentral calls so. */
  named(user: string, x: string): SeenSession | undefined
  /** Whether the user has a session. */
  isIn(user: string): boolean
  /**
   * Forgets the sessions that {@link find} finds, and closes their sockets. By `keyOfSealed` these are the sockets of a
   * user that belong to nobody knows which session.
   */
  end(what: readonly string[] | RevocationTimes): void
}

/** Key → when what bears it has ended: what began later goes on. Milliseconds since 1970. */
export type RevocationTimes = ReadonlyMap<string, number>

interface Endable {
  /** Of all sessions at the IdP that it belonged to. */
  keys: readonly string[]
  readonly startedAt: number
}

/** What sockets hang on: a session, or something sealed. */
interface Keyed extends Endable {
  readonly sockets: Set<MeshSocket>
}

interface Tracked extends Keyed, SessionUse {
  readonly session: SeenSession
}

/** One takes about a kilobyte. */
const MOST_IDLE = 5_000
/** Longer waits overflow Node's timers. */
const LONGEST_WAIT_MS = 20 * 24 * 60 * 60_000

export function createOpenSessions(clock: Clock, mostIdle = MOST_IDLE): OpenSessions {
  const sessions = new Map<string, Tracked>()
  const sessionKeys = new KeyIndex<Tracked>()
  /** By MeshCentral's name of the session, as in `destroyedSessions`. */
  const byName = new Map<string, Tracked>()
  /** How many sessions each user has. */
  const counts = new Map<string, number>()
  /** By what they came with. */
  const sealed = new Map<string, Keyed>()
  const sealedKeys = new KeyIndex<Keyed>()
  const relays = createWebRelays()

  function add(one: Tracked): void {
    const { user, x, signIn } = one.session
    sessions.set(signIn.handle, one)
    sessionKeys.add(one)
    byName.set(`${user}/${x}`, one)
    counts.set(user, (counts.get(user) ?? 0) + 1)
  }

  function drop(one: Tracked): void {
    const { user, x, signIn } = one.session
    sessions.delete(signIn.handle)
    sessionKeys.remove(one)
    if (byName.get(`${user}/${x}`) === one) byName.delete(`${user}/${x}`)
    const left = (counts.get(user) ?? 1) - 1
    if (left > 0) counts.set(user, left)
    else counts.delete(user)
  }

  function forgetIdle(): void {
    if (sessions.size <= mostIdle) return
    for (const one of sessions.values()) {
      if (one.sockets.size > 0) continue
      drop(one)
      if (sessions.size <= mostIdle) return
    }
  }

  /** Nothing else closes a socket of a login token whose days are over: it is checked only when it is opened. */
  function closeAt(until: number, socket: MeshSocket): void {
    const waitMs = Math.max(0, until - clock.now())
    const timer = clock.after(Math.min(waitMs, LONGEST_WAIT_MS), () => socket.close())
    socket.on('close', () => timer.cancel())
  }

  return {
    seen(session, socket, keys) {
      const { handle } = session.signIn
      const known = sessions.get(handle)
      const current = known ?? {
        session,
        keys: keys ?? keysOfOpen(session.signIn),
        startedAt: session.signIn.startedAt,
        sockets: new Set<MeshSocket>(),
        ...firstUse(clock, session.signIn.startedAt),
      }
      current.seenAt = clock.elapsed()
      if (known && known.session.signIn.sid !== session.signIn.sid) {
        current.keys = [...new Set([...known.keys, ...(keys ?? keysOfOpen(session.signIn))])]
        sessionKeys.add(current)
      }
      // Put at the end, which keeps the map in the order of use.
      if (known) {
        sessions.delete(handle)
        sessions.set(handle, current)
      } else add(current)
      if (socket) {
        current.sockets.add(socket)
        socket.on('close', () => current.sockets.delete(socket))
      }
      // With thousands of sockets it is a long way to one that has none.
      if (!known) forgetIdle()
    },
    seenSealed(owner, user, socket) {
      if (owner.kind === 'none') return
      const isOne = owner.kind === 'session'
      const keys = isOne ? owner.keys : [keyOfSealed(user)]
      const startedAt = isOne ? owner.startedAt : owner.sealedAt
      const name = JSON.stringify([user, startedAt, ...keys])
      const current = sealed.get(name) ?? { keys, startedAt, sockets: new Set() }
      if (current.sockets.has(socket)) return
      current.sockets.add(socket)
      sealed.set(name, current)
      sealedKeys.add(current)
      if (isOne && owner.until !== undefined) closeAt(owner.until, socket)
      socket.on('close', () => {
        current.sockets.delete(socket)
        if (current.sockets.size > 0 || sealed.get(name) !== current) return
        sealed.delete(name)
        sealedKeys.remove(current)
      })
    },
    find: (what) => [...endedIn(sessionKeys, what)].map(({ session }) => session),
    relays,
    findRelayed: (what) => relays.sessionsThat(endsBy(what)),
    *inUse(domainKey, forMs) {
      const those = [...sessions.values()].filter(({ session }) => session.signIn.domainKey === domainKey)
      const brought = new Set([...sealed.values()].flatMap(({ keys }) => keys))
      // The first is of the session itself; a tunnel may be that of several.
      const isUsed = ({ sockets, keys }: Tracked) => sockets.size > 0 || brought.has(keys[0] ?? '')
      for (const { session } of dueSessions(forMs, those, clock, isUsed)) yield session
    },
    keysOf: ({ signIn }) => sessions.get(signIn.handle)?.keys ?? keysOfOpen(signIn),
    named: (user, x) => byName.get(`${user}/${x}`)?.session,
    isIn: (user) => counts.has(user),
    end(what) {
      const ended = endedIn(sessionKeys, what)
      for (const one of ended) drop(one)
      const brought = endedIn(sealedKeys, what)
      // A page's own socket has both.
      closeAll(new Set([...ended, ...brought].flatMap(({ sockets }) => [...sockets])))
    },
  }
}

/** What ends a session that is open: of itself, and of all that an IdP may name. */
export function keysOfOpen(signIn: CookieSignIn): readonly string[] {
  return [keyOfHandle(signIn.handle), ...keysOfSignIn(signIn)]
}

function endedIn<One extends Endable>(
  index: KeyIndex<One>,
  what: readonly string[] | RevocationTimes,
): ReadonlySet<One> {
  const found = new Set<One>()
  for (const [key, endedAt] of endingsOf(what)) {
    for (const one of index.withKey(key)) if (one.startedAt <= endedAt) found.add(one)
  }
  return found
}

/** A key alone ends all that bears it, whenever that began. */
function endingsOf(what: readonly string[] | RevocationTimes): RevocationTimes {
  return 'get' in what ? what : new Map(what.map((key) => [key, Number.POSITIVE_INFINITY]))
}

function endsBy(what: readonly string[] | RevocationTimes): (one: Endable) => boolean {
  const endings = endingsOf(what)
  return ({ keys, startedAt }) => keys.some((key) => startedAt <= (endings.get(key) ?? Number.NEGATIVE_INFINITY))
}

function closeAll(sockets: ReadonlySet<MeshSocket>): void {
  for (const socket of [...sockets]) {
    sendToLogin(socket)
    socket.close()
  }
}
