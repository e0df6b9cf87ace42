import type { Clock } from '../../clock.ts'
import type { CookieSignIn } from '../../host/cookie-session.ts'
import { keyOfHandle, keysOfSignIn } from '../../host/revocations.ts'
import { dueAfter, firstUse, type Use } from '../../host/uses.ts'
import { sendToLogin } from '../pages/open-page.ts'
import type { MeshSocket } from '../server.ts'
import { keyOfSealed, type Owner } from './owner.ts'
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
 * Which sessions are open, and their web sockets: a socket is checked when it is opened and never again, so whoever ends a session
 * has to close its sockets. Bounded: of sessions without sockets the one that was idle longest is forgotten first.
 */
export interface OpenSessions {
  /** @param keys what ends it, where that is at hand */
  seen(session: SeenSession, socket?: MeshSocket, keys?: readonly string[]): void
  /** A socket that came with a cookie of that owner, sealed in the name of that user. */
  seenSealed(owner: Owner, user: string, socket: MeshSocket): void
  readonly relays: WebRelays
  /** Sessions that have one of the keys, or end by these endings. */
  find(what: readonly string[] | Endings): readonly SeenSession[]
  /** The same of sessions by whose cookies web relays were opened, whether they were seen here or not. */
  findRelayed(what: readonly string[] | Endings): readonly RelayedSession[]
  /**
   * Those of a domain that have a socket, or were seen since they were last handed out, if that was so long ago: as `inUse` of the port.
   */
  inUse(domainKey: string, forMs: number): Iterable<SeenSession>
  /** What ends a session, which takes some time to make of one that was not seen yet. */
  keysOf(session: SeenSession): readonly string[]
  /** The session that MeshCentral calls so. */
  named(user: string, x: string): SeenSession | undefined
  /** Who has a session. */
  usersIn(): ReadonlySet<string>
  /**
   * Forgets the sessions that {@link find} finds, and closes their sockets. By `keyOfSealed` these are the sockets of a user that belong
   * to nobody knows which session.
   */
  end(what: readonly string[] | Endings): void
}

/** Key → when what bears it has ended: what began later goes on. Milliseconds since 1970. */
export type Endings = ReadonlyMap<string, number>

interface Endable {
  /** Of all sessions at the IdP that it belonged to. */
  keys: readonly string[]
  readonly startedAt: number
}

/** What sockets hang on: a session, or something sealed. */
interface Keyed extends Endable {
  readonly sockets: Set<MeshSocket>
}

interface Tracked extends Keyed, Use {
  readonly session: SeenSession
}

/** One takes about a kilobyte. */
const MOST_IDLE = 5_000

export function createOpenSessions(clock: Clock, mostIdle = MOST_IDLE): OpenSessions {
  const sessions = new Map<string, Tracked>()
  /** By what they came with. */
  const sealed = new Map<string, Keyed>()
  const relays = createWebRelays()

  function forgetIdle(): void {
    if (sessions.size <= mostIdle) return
    for (const [handle, { sockets }] of sessions) {
      if (sockets.size > 0) continue
      sessions.delete(handle)
      if (sessions.size <= mostIdle) return
    }
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
      }
      // Put at the end, which keeps the map in the order of use.
      if (known) sessions.delete(handle)
      sessions.set(handle, current)
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
      socket.on('close', () => {
        current.sockets.delete(socket)
        if (current.sockets.size === 0 && sealed.get(name) === current) sealed.delete(name)
      })
    },
    find: (what) => [...sessions.values()].filter(endsBy(what)).map(({ session }) => session),
    relays,
    findRelayed: (what) => relays.sessionsThat(endsBy(what)),
    *inUse(domainKey, forMs) {
      const those = [...sessions.values()].filter(({ session }) => session.signIn.domainKey === domainKey)
      const brought = new Set([...sealed.values()].flatMap(({ keys }) => keys))
      // The first is of the session itself; a tunnel may be that of several.
      const isUsed = ({ sockets, keys }: Tracked) => sockets.size > 0 || brought.has(keys[0] ?? '')
      for (const { session } of dueAfter(forMs, those, clock, isUsed)) yield session
    },
    keysOf: ({ signIn }) => sessions.get(signIn.handle)?.keys ?? keysOfOpen(signIn),
    named: (user, x) => [...sessions.values()].find(({ session }) => session.user === user && session.x === x)?.session,
    usersIn: () => new Set([...sessions.values()].map(({ session }) => session.user)),
    end(what) {
      const ends = endsBy(what)
      const ended = [...sessions].filter(([, one]) => ends(one))
      for (const [handle] of ended) sessions.delete(handle)
      const brought = [...sealed.values()].filter(ends)
      // A page's own socket has both.
      closeAll(new Set([...ended.map(([, one]) => one), ...brought].flatMap(({ sockets }) => [...sockets])))
    },
  }
}

/** What ends a session that is open: of itself, and of all that an IdP may name. */
export function keysOfOpen(signIn: CookieSignIn): readonly string[] {
  return [keyOfHandle(signIn.handle), ...keysOfSignIn(signIn)]
}

/** A key alone ends all that bears it, whenever that began. */
function endsBy(what: readonly string[] | Endings): (one: Endable) => boolean {
  const endings: Endings = 'get' in what ? what : new Map(what.map((key) => [key, Number.POSITIVE_INFINITY]))
  return ({ keys, startedAt }) => keys.some((key) => startedAt <= (endings.get(key) ?? Number.NEGATIVE_INFINITY))
}

function closeAll(sockets: ReadonlySet<MeshSocket>): void {
  for (const socket of [...sockets]) {
    sendToLogin(socket)
    socket.close()
  }
}
