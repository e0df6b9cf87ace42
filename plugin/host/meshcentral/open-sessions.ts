import type { CookieSignIn } from '../cookie-session.ts'
import { keysOfSignIn } from '../revocations.ts'
import { sendToLogin } from './open-page.ts'
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
  /** A socket that was opened with a cookie of MeshCentral's own, without a session. */
  seenAlone(user: string, socket: MeshSocket): void
  /** Sessions that have one of the keys. */
  find(keys: readonly string[]): readonly OpenSession[]
  /** Closes the sockets of a session and forgets it, and those of its user that belong to no session. */
  end(handle: string, user: string): void
}

interface Tracked {
  readonly session: OpenSession
  readonly keys: readonly string[]
  readonly sockets: Set<MeshSocket>
}

/** One takes about a kilobyte. */
const MOST_IDLE = 5_000

export function createOpenSessions(mostIdle = MOST_IDLE): OpenSessions {
  const sessions = new Map<string, Tracked>()
  const alone = new Map<string, Set<MeshSocket>>()

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
      const current = known ?? { session, keys: keysOf(session), sockets: new Set<MeshSocket>() }
      // Put at the end, which keeps the map in the order of use.
      if (known) sessions.delete(handle)
      sessions.set(handle, current)
      if (socket) {
        current.sockets.add(socket)
        socket.on('close', () => current.sockets.delete(socket))
      }
      forgetIdle()
    },
    seenAlone(user, socket) {
      const sockets = alone.get(user) ?? new Set()
      alone.set(user, sockets.add(socket))
      socket.on('close', () => {
        sockets.delete(socket)
        if (sockets.size === 0 && alone.get(user) === sockets) alone.delete(user)
      })
    },
    find: (keys) =>
      [...sessions.values()].flatMap(({ session, keys: own }) =>
        own.some((key) => keys.includes(key)) ? [session] : [],
      ),
    end(handle, user) {
      for (const socket of [...(sessions.get(handle)?.sockets ?? []), ...(alone.get(user) ?? [])]) {
        sendToLogin(socket)
        socket.close()
      }
      sessions.delete(handle)
    },
  }
}

function keysOf({ signIn }: OpenSession): readonly string[] {
  return keysOfSignIn({ ...signIn, idToken: null, tokens: null })
}
