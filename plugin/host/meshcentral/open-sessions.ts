import type { CookieSignIn } from '../cookie-session.ts'
import { keyOfHandle, keysOfSignIn } from '../revocations.ts'
import { sendToLogin } from './open-page.ts'
import type { Owner } from './owner.ts'
import type { MeshSocket } from './server.ts'

/** A session as this process has seen it in requests. */
export interface OpenSession {
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
  seen(session: OpenSession, socket?: MeshSocket): void
  /** A socket that came with a cookie of that owner, sealed in the name of that user. */
  seenSealed(owner: Owner, user: string, socket: MeshSocket): void
  /** Sessions that have one of the keys. */
  find(keys: readonly string[]): readonly OpenSession[]
  /**
   * Those that have a socket, or were seen since they were last taken, if that was not later than then. To begin with they count as taken
   * at their login. Milliseconds since 1970.
   */
  inUse(before: number): readonly OpenSession[]
  taken(session: OpenSession): void
  /** The session that MeshCentral calls so. */
  named(user: string, x: string): OpenSession | undefined
  isUserIn(user: string): boolean
  /** Forgets the sessions that have one of the keys, and closes their sockets. */
  end(keys: readonly string[]): void
  /** Closes the sockets of a user that belong to nobody knows which session. */
  endUnknown(user: string): void
}

interface Tracked {
  readonly session: OpenSession
  readonly keys: readonly string[]
  readonly sockets: Set<MeshSocket>
  seenAt: number
  takenAt: number
}

/** One takes about a kilobyte. */
const MOST_IDLE = 5_000

export function createOpenSessions(mostIdle = MOST_IDLE, now: () => number = Date.now): OpenSessions {
  const sessions = new Map<string, Tracked>()
  /** By what they came with; those of unknown sessions are under the user alone. */
  const sealed = new Map<string, { readonly keys: readonly string[]; readonly sockets: Set<MeshSocket> }>()

  function forgetIdle(): void {
    if (sessions.size <= mostIdle) return
    for (const [handle, { sockets }] of sessions) {
      if (sockets.size > 0) continue
      sessions.delete(handle)
      return
    }
  }

  return {
    seen(session, socket) {
      const { handle } = session.signIn
      const known = sessions.get(handle)
      const current = known ?? {
        session,
        keys: keysOfOpen(session.signIn),
        sockets: new Set<MeshSocket>(),
        seenAt: 0,
        takenAt: session.signIn.startedAt,
      }
      current.seenAt = now()
      // Put at the end, which keeps the map in the order of use.
      if (known) sessions.delete(handle)
      sessions.set(handle, current)
      if (socket) {
        current.sockets.add(socket)
        socket.on('close', () => current.sockets.delete(socket))
      }
      forgetIdle()
    },
    seenSealed(owner, user, socket) {
      if (owner.kind === 'none') return
      const keys = owner.kind === 'session' ? owner.keys : []
      const name = JSON.stringify([user, ...keys])
      const current = sealed.get(name) ?? { keys, sockets: new Set() }
      if (current.sockets.has(socket)) return
      current.sockets.add(socket)
      sealed.set(name, current)
      socket.on('close', () => {
        current.sockets.delete(socket)
        if (current.sockets.size === 0 && sealed.get(name) === current) sealed.delete(name)
      })
    },
    find: (keys) => [...sessions.values()].flatMap((one) => (hasOneOf(one, keys) ? [one.session] : [])),
    inUse(before) {
      // The first is of the session itself.
      const sealedFor = new Set([...sealed.values()].map(({ keys }) => keys[0]))
      return [...sessions.values()].flatMap(({ session, keys, sockets, seenAt, takenAt }) => {
        const isUsed = sockets.size > 0 || seenAt > takenAt || sealedFor.has(keys[0])
        // Later than now: the clock was set back.
        return isUsed && (takenAt <= before || takenAt > now()) ? [session] : []
      })
    },
    taken({ signIn: { handle } }) {
      const found = sessions.get(handle)
      if (found) found.takenAt = now()
    },
    named: (user, x) => [...sessions.values()].find(({ session }) => session.user === user && session.x === x)?.session,
    isUserIn: (user) => [...sessions.values()].some(({ session }) => session.user === user),
    end(keys) {
      const over = [...sessions].filter(([, one]) => hasOneOf(one, keys))
      for (const [handle] of over) sessions.delete(handle)
      const brought = [...sealed.values()].filter((one) => hasOneOf(one, keys))
      // A page's own socket has both.
      closeAll(new Set([...over.map(([, one]) => one), ...brought].flatMap(({ sockets }) => [...sockets])))
    },
    endUnknown(user) {
      closeAll(sealed.get(JSON.stringify([user]))?.sockets ?? new Set())
    },
  }
}

/** What ends a session that is open: of itself, and of all that an IdP may name. */
export function keysOfOpen(signIn: CookieSignIn): readonly string[] {
  return [keyOfHandle(signIn.handle), ...keysOfSignIn({ ...signIn, idToken: null, tokens: null })]
}

function hasOneOf({ keys: own }: { readonly keys: readonly string[] }, keys: readonly string[]): boolean {
  return own.some((key) => keys.includes(key))
}

function closeAll(sockets: ReadonlySet<MeshSocket>): void {
  for (const socket of [...sockets]) {
    sendToLogin(socket)
    socket.close()
  }
}
